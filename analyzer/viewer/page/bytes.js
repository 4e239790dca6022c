// The parts of the page's data: unpacked when they are first asked for (analyzer/viewer/parts.h).

const unpacked = new Map();

export function hasPart(name) {
    return unpacked.has(name) || document.getElementById('part-' + name) !== null;
}

function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

async function inflate(name) {
    const element = document.getElementById('part-' + name);
    if (!element) throw new Error('the page has no part ' + name);
    const bytes = fromBase64(element.textContent);
    element.textContent = ''; // once is enough: the text is the largest thing on the page
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The bytes of a part; whoever decodes them keeps what it needs.
export function part(name) {
    if (!unpacked.has(name)) unpacked.set(name, inflate(name));
    return unpacked.get(name);
}

// Lets go of the bytes of a part that was decoded into something else.
export function forget(name) {
    unpacked.delete(name);
}

// Reads the numbers and texts of one column (analyzer/viewer/buffer.h).
export class Column {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
        this.text = new Uint8Array(0);
    }
    get done() {
        return this.at >= this.bytes.length;
    }
    number() {
        let byte = this.bytes[this.at++];
        if (byte < 128) return byte;
        let value = byte & 127;
        let scale = 128;
        do {
            byte = this.bytes[this.at++];
            value += (byte & 127) * scale;
            scale *= 128;
        } while (byte >= 128);
        return value;
    }
    step() {
        const value = this.number();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    // The bytes of the next front-coded text; valid until the next call.
    nextText() {
        const common = this.number();
        const rest = this.number();
        const text = new Uint8Array(common + rest);
        text.set(this.text.subarray(0, common));
        text.set(this.bytes.subarray(this.at, this.at + rest), common);
        this.at += rest;
        this.text = text;
        return text;
    }
    skipTexts(count) {
        for (let i = 0; i < count; i++) this.nextText();
    }
}

export function columnsOf(bytes) {
    const head = new Column(bytes);
    const lengths = Array.from({ length: head.number() }, () => head.number());
    let at = head.at;
    return lengths.map((length) => {
        const column = new Column(bytes.subarray(at, at + length));
        at += length;
        return column;
    });
}

const decoder = new TextDecoder();
export function textOf(bytes) {
    return decoder.decode(bytes);
}

// JSON whose integers beyond 2^53 become BigInt, so that every figure is shown as it was written. Such numbers
// are put into strings that begin with a mark; strings of the document that begin so get the mark twice.
const MARK = '\\u0001#';
export function parseExact(text) {
    if (!/\d{16}/.test(text)) return JSON.parse(text);
    const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => {
        if (token[0] !== '"') return /^-?\d{16,}$/.test(token) ? '"' + MARK + token + '"' : token;
        return token.startsWith('"' + MARK) ? '"' + MARK + token.slice(1) : token;
    });
    return JSON.parse(marked, (key, value) => {
        if (typeof value !== 'string' || !value.startsWith('\u0001#')) return value;
        const rest = value.slice(2);
        if (rest.startsWith('\u0001#')) return rest;
        const number = Number(rest);
        return Number.isSafeInteger(number) ? number : BigInt(rest);
    });
}

"""What a cuda.h declares, as the driver exports it: every symbol with its version and its per-thread form.

The header declares `cuMemAlloc` and renames it with a macro; further down, for the driver itself, it takes the macros back and declares
older versions and per-thread forms by their own names."""
import re

SUFFIX = re.compile(r'(_v\d)?(_ptsz|_ptds)?$')
HEADERS = ('/usr/local/cuda/include/cuda.h', '/usr/include/cuda.h')


def base(symbol):
    """The name without version and form."""
    return SUFFIX.sub('', symbol)


def symbols(path):
    """The exported symbols that the header declares."""
    text = re.sub(r'/\*.*?\*/', ' ', open(path, encoding='utf-8').read(), flags=re.S)
    border = re.search(r'#\s*undef\s+cu[A-Z]', text)
    public, internal = (text[:border.start()], text[border.start():]) if border else (text, '')
    renamed = {name: (symbol, form) for name, form, symbol in
               re.findall(r'#\s*define\s+(cu[A-Z]\w*)\s+(?:__CUDA_API_PT(DS|SZ)\()?(cu[A-Z]\w*)\)?', public)}
    found = set()
    for name in re.findall(r'\bCUDAAPI\s+(cu[A-Z]\w*)\s*\(', public):
        symbol, form = renamed.get(name, (name, ''))
        found.add(symbol)
        if form:
            found.add(f'{symbol}_pt{form.lower()}')
    return found | set(re.findall(r'\bCUDAAPI\s+(cu[A-Z]\w*)\s*\(', internal))


def reasons(table):
    """Name -> reason, from passed.def."""
    return dict(re.findall(r'^PASSED\((\w+), (\w+)\)', open(table, encoding='utf-8').read(), re.M))


def reason_classes(table):
    """The reasons that the table's head explains."""
    return set(re.findall(r'^ \*     ([A-Z]+) ', open(table, encoding='utf-8').read(), re.M))


def judge(declared, hooked, passed):
    """Symbols that are neither hooked, as they are or under another form, nor passed by their base name."""
    return sorted(s for s in declared if s not in hooked and base(s) not in passed)

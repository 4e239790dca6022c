/* Issues in words, made from the table of codes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/planes/health_steps.h"

static const char *const code_names[] = {
#define CODE_NAME(suffix, name, class, message, meaning) name,
    HEALTH_CODES(CODE_NAME)
#undef CODE_NAME
};

static const char *const code_messages[] = {
#define CODE_MESSAGE(suffix, name, class, message, meaning) message,
    HEALTH_CODES(CODE_MESSAGE)
#undef CODE_MESSAGE
};

static const char *const detail_texts[] = {
#define DETAIL_TEXT(suffix, text) text,
    HEALTH_DETAILS(DETAIL_TEXT)
#undef DETAIL_TEXT
};

const char *health_code_name(int code)
{
    return code_names[code];
}

/* An id takes at most this many bytes of a message, so that two of them and the sentence fit. */
#define ID_BYTES 300

struct message {
    char *text;
    size_t length;
};

static void append(struct message *message, const char *bytes, size_t length)
{
    size_t room = HEALTH_MESSAGE_SIZE - 1 - message->length;
    if (length > room) length = room;
    memcpy(message->text + message->length, bytes, length);
    message->length += length;
}

/* In double quotes, with control bytes and NUL as \u00xx; cut at a character when it is too long. */
static void append_id(struct message *message, const struct cg_trace *trace, cg_str string)
{
    struct cg_text id = trace_text(trace, string);
    size_t limit = message->length + ID_BYTES;
    append(message, "\"", 1);
    size_t i = 0;
    while (i < id.length) {
        char escape[7];
        size_t bytes = 1;
        while (i + bytes < id.length && ((unsigned char)id.bytes[i + bytes] & 0xc0) == 0x80)
            bytes++;
        bool control = (unsigned char)id.bytes[i] < 0x20 || id.bytes[i] == 0x7f;
        if (control) snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)id.bytes[i]);
        size_t length = control ? 6 : bytes;
        if (message->length + length > limit) break;
        append(message, control ? escape : id.bytes + i, length);
        i += bytes;
    }
    if (i < id.length) append(message, "...", 3);
    append(message, "\"", 1);
}

static void append_number(struct message *message, uint64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    append(message, digits, (size_t)length);
}

/* Text with {subject}, {object} and {number} filled in; a message's {detail} is such a text itself. */
static void append_text(struct message *message, const struct cg_trace *trace,
                        const struct health_issue *issue, const char *text, const char *detail)
{
    while (*text) {
        size_t plain = strcspn(text, "{");
        append(message, text, plain);
        text += plain;
        if (!*text) break;
        if (!strncmp(text, "{subject}", 9))
            append_id(message, trace, issue->subject);
        else if (!strncmp(text, "{object}", 8))
            append_id(message, trace, issue->object);
        else if (!strncmp(text, "{number}", 8))
            append_number(message, issue->number);
        else if (detail)
            append_text(message, trace, issue, detail, NULL);
        text += strcspn(text, "}") + 1;
    }
}

void health_message(const struct cg_trace *trace, const struct health_issue *issue,
                    char message[HEALTH_MESSAGE_SIZE])
{
    struct message made = {message, 0};
    append_text(&made, trace, issue, code_messages[issue->code], detail_texts[issue->detail]);
    message[made.length] = '\0';
}

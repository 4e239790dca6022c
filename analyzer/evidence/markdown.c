#include "analyzer/evidence/markdown.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void flush(struct markdown *md)
{
    if (!md->error && md->length) md->error = md->sink(md->context, md->buffer, md->length);
    md->length = 0;
}

static void put(struct markdown *md, const char *bytes, size_t length)
{
    while (length) {
        size_t room = sizeof md->buffer - md->length, part = length < room ? length : room;
        memcpy(md->buffer + md->length, bytes, part);
        md->length += part;
        bytes += part;
        length -= part;
        if (md->length == sizeof md->buffer) flush(md);
    }
}

void md_start(struct markdown *md, json_sink *sink, void *context)
{
    md->sink = sink;
    md->context = context;
    md->error = 0;
    md->length = 0;
}

int md_finish(struct markdown *md)
{
    flush(md);
    return md->error;
}

void md_line(struct markdown *md, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(md, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

void md_text(struct markdown *md, struct cg_text text, bool table)
{
    bool control = false;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.bytes[i];
        if (byte < 0x20 || byte == 0x7f) {
            if (!control) put(md, " ", 1);
            control = true;
            continue;
        }
        control = false;
        if (table && byte == '|') put(md, "\\", 1);
        put(md, &text.bytes[i], 1);
    }
}

void md_code(struct markdown *md, struct cg_text text, bool table)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < text.length; i++) {
        run = text.bytes[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        put(md, "`", 1);
    bool pad = !text.length || longest;
    put(md, " ", pad);
    md_text(md, text, table);
    put(md, " ", pad && text.length);
    for (size_t i = 0; i <= longest; i++)
        put(md, "`", 1);
}

struct cg_text md_string(const char *text)
{
    return (struct cg_text){text, strlen(text)};
}

#include "analyzer/viewer/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/evidence/sha256.h"

/* The folder and what is in it come from analyzer/viewer/build.mk. */
#define ASSET(symbol, file)                                                                                  \
    __asm__(".section .rodata\n.global viewer_" #symbol "\n.global viewer_" #symbol "_end\n"                 \
            "viewer_" #symbol ":\n.incbin \"" VIEWER_ASSETS "/" file "\"\nviewer_" #symbol "_end:\n"         \
            ".byte 0\n.previous\n");                                                                         \
    extern const char viewer_##symbol[], viewer_##symbol##_end[]
ASSET(script, "viewer.js");
ASSET(style, "viewer.css");
ASSET(body, "viewer.html");

struct piece {
    const char *bytes;
    size_t length;
};

enum { DIGEST_TEXT = 45 };

/* The digest as a content security policy writes it: base64 of its 32 bytes. */
static bool policy_digest(const char *bytes, size_t length, char text[DIGEST_TEXT])
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char hex[SHA256_HEX];
    if (!sha256_bytes(bytes, length, hex)) return false;
    unsigned bits = 0, held = 0, used = 0;
    for (const char *at = hex; *at; at++) {
        bits = bits << 4 | (unsigned)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
        held += 4;
        if (held >= 6) text[used++] = digit[bits >> (held -= 6) & 63];
    }
    text[used++] = digit[bits << (6 - held) & 63];
    text[used++] = '=';
    text[used] = '\0';
    return used == DIGEST_TEXT - 1;
}

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-%s'; "
    "style-src 'sha256-%s'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>cgtrace</title>\n<style>";

/* The text of the head; 0 when no digest could be made. */
enum { HEAD_SIZE = sizeof head + 2 * DIGEST_TEXT };
static size_t head_text(char text[HEAD_SIZE])
{
    char script[DIGEST_TEXT], style[DIGEST_TEXT];
    if (!policy_digest(viewer_script, (size_t)(viewer_script_end - viewer_script), script) ||
        !policy_digest(viewer_style, (size_t)(viewer_style_end - viewer_style), style))
        return 0;
    return (size_t)snprintf(text, HEAD_SIZE, head, script, style);
}

static const char after_style[] = "</style>\n</head>\n", before_script[] = "<script type=\"module\">",
                  after_script[] = "</script>\n</body>\n</html>\n";

uint64_t page_size(void)
{
    return HEAD_SIZE + sizeof after_style + sizeof before_script + sizeof after_script +
           (size_t)(viewer_style_end - viewer_style) + (size_t)(viewer_body_end - viewer_body) +
           (size_t)(viewer_script_end - viewer_script);
}

static int write_pieces(const struct piece *pieces, size_t count, json_sink *sink, void *context)
{
    for (size_t i = 0; i < count; i++) {
        int failure = sink(context, pieces[i].bytes, pieces[i].length);
        if (failure) return failure;
    }
    return 0;
}

int page_write(const struct parts *parts, json_sink *sink, void *context)
{
    char text[HEAD_SIZE];
    size_t length = head_text(text);
    if (length == 0) return ENOMEM;
    const struct piece before[] = {{text, length},
                                   {viewer_style, (size_t)(viewer_style_end - viewer_style)},
                                   {after_style, sizeof after_style - 1},
                                   {viewer_body, (size_t)(viewer_body_end - viewer_body)}};
    const struct piece after[] = {{before_script, sizeof before_script - 1},
                                  {viewer_script, (size_t)(viewer_script_end - viewer_script)},
                                  {after_script, sizeof after_script - 1}};
    int failure = write_pieces(before, sizeof before / sizeof *before, sink, context);
    if (!failure) failure = parts_write(parts, sink, context);
    return failure ? failure : write_pieces(after, sizeof after / sizeof *after, sink, context);
}

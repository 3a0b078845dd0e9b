/* Escapes for HTML and SVG. See markup.h. SPDX-License-Identifier: MIT */
#include "check/picture/markup.h"
#include "base/json.h"
#include <string.h>

static const char *escape_of(unsigned char c) {
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\t': return "    ";
    case '\r': return "";
    default: return c < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : NULL;
    }
}

void markup_text(FILE *out, const char *text, size_t size_bytes) {
    for (size_t n; size_bytes; text += n, size_bytes -= n) {
        const char *escape = escape_of((unsigned char)*text);
        size_t valid = json_sequence_bytes(text, size_bytes);
        n = valid ? valid : 1;
        if (escape || !valid)
            fputs(escape ? escape : "\xef\xbf\xbd", out);
        else
            fwrite(text, 1, n, out);
    }
}

void markup_string(FILE *out, const char *text) { markup_text(out, text, strlen(text)); }

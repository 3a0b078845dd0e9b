/* Text for HTML and SVG: whatever a kernel, a file or a line holds, it is text there and not markup.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_MARKUP_H
#define HEDDLE_CHECK_PICTURE_MARKUP_H
#include <stddef.h>
#include <stdio.h>

/* Writes `size_bytes` of text for an element or a quoted attribute. What is not UTF-8, and what XML does not
 * allow, becomes U+FFFD. */
void markup_text(FILE *out, const char *text, size_t size_bytes);
void markup_string(FILE *out, const char *text);
#endif

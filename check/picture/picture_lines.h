/* What a box of a picture shows, which says how large it is. SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PICTURE_PICTURE_LINES_H
#define HEDDLE_CHECK_PICTURE_PICTURE_LINES_H
#include "check/picture/picture.h"

void picture_box_size(const Picture *picture, uint32_t box, double *width, double *height);
double picture_title_width(const Picture *picture, uint32_t frame);
/* graph.css, page.css, page.js */
const char *picture_embedded(const char *name);
#endif

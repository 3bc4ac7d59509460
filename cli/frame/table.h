/*
 * A table: columns in line, with three blanks between them, as kubectl's are.
 */
#pragma once

#include "cli/frame/output.h"

struct table_cell {
    char *text; /* as it is shown */
    enum style style;
};

struct table {
    struct table_cell *cells; /* row by row; the first row is the header */
    size_t n_cells, capacity;
    size_t columns;
};

/* header: the names of the columns, with blanks between: "NAME READY AGE". */
void table_init(struct table *table, const char *header);
void table_done(struct table *table);

/* The next cell, from left to right, row by row. */
void table_add(struct table *table, enum style style, const char *format, ...) PRINTF_LIKE(3, 4);

void table_write(const struct table *table, struct output *out);

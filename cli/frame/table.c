#include "cli/frame/table.h"

#include <string.h>

#include "cli/frame/width.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"

#define GAP 3

static void add_cell(struct table *table, char *text, enum style style)
{
    table->cells = mem_grow(table->cells, table->n_cells, &table->capacity, sizeof(*table->cells));
    table->cells[table->n_cells++] = (struct table_cell){text, style};
}

void table_init(struct table *table, const char *header)
{
    *table = (struct table){0};
    while (*header) {
        size_t length = strcspn(header, " ");

        add_cell(table, str_new_n(header, length), STYLE_PLAIN);
        header += length;
        header += strspn(header, " ");
    }
    table->columns = table->n_cells;
}

void table_done(struct table *table)
{
    for (size_t i = 0; i < table->n_cells; i++)
        free(table->cells[i].text);
    free(table->cells);
}

void table_add(struct table *table, enum style style, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list args;

    va_start(args, format);
    text = str_vprintf(format, args);
    va_end(args);
    add_cell(table, utf8_show(text), style);
}

static size_t column_width(const struct table *table, size_t column)
{
    size_t widest = 0;

    for (size_t i = column; i < table->n_cells; i += table->columns) {
        size_t width = text_width(table->cells[i].text);

        widest = width > widest ? width : widest;
    }
    return widest;
}

void table_write(const struct table *table, struct output *out)
{
    _cleanup_free_ size_t *starts = NEW_ARRAY(size_t, table->columns + 1);

    for (size_t i = 0; i < table->columns; i++)
        starts[i + 1] = starts[i] + column_width(table, i) + GAP;
    for (size_t i = 0; i < table->n_cells; i++) {
        const struct table_cell *cell = &table->cells[i];

        if (starts[i % table->columns])
            output_tab(out, starts[i % table->columns]);
        output_paint(out, cell->style, "%s", cell->text);
        if ((i + 1) % table->columns == 0)
            output_end(out);
    }
}

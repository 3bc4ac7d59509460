/* Where paths stand in YAML: reads the events of one document, down to all of them at once. */
#include <yaml.h>

#include "engine/yaml/place_wanted.h"

struct finder {
    yaml_parser_t parser;
    yaml_event_t event; /* the next one; type YAML_NO_EVENT: there is none any more */
};

static void step(struct finder *f)
{
    yaml_event_delete(&f->event);
    if (!yaml_parser_parse(&f->parser, &f->event))
        f->event.type = YAML_NO_EVENT;
}

static struct yaml_mark mark(const struct finder *f)
{
    return (struct yaml_mark){f->event.start_mark.line + 1, f->event.start_mark.column + 1};
}

static bool has_ended(const struct finder *f, yaml_event_type_t end)
{
    return f->event.type == end || f->event.type == YAML_NO_EVENT;
}

/* Goes past the node that the next event begins. */
static void skip(struct finder *f)
{
    size_t depth = 0;

    do {
        if (f->event.type == YAML_MAPPING_START_EVENT || f->event.type == YAML_SEQUENCE_START_EVENT)
            depth++;
        else if (f->event.type == YAML_MAPPING_END_EVENT ||
                 f->event.type == YAML_SEQUENCE_END_EVENT)
            depth--;
        else if (f->event.type == YAML_NO_EVENT)
            return;
        step(f);
    } while (depth > 0);
}

static void visit(struct finder *f, struct place_wanted **set, size_t n);

/* Those that go on below a member or an item are at the front of the set: they are done with. */
static void visit_mapping(struct finder *f, struct place_wanted **set, size_t n)
{
    step(f);
    while (!has_ended(f, YAML_MAPPING_END_EVENT)) {
        size_t found = 0;

        if (f->event.type == YAML_SCALAR_EVENT)
            found = place_wanted_key(set, n, (const char *)f->event.data.scalar.value,
                                     f->event.data.scalar.length, mark(f));
        skip(f);
        visit(f, set, found);
        set += found;
        n -= found;
    }
    step(f);
}

static void visit_sequence(struct finder *f, struct place_wanted **set, size_t n)
{
    step(f);
    for (size_t i = 0; !has_ended(f, YAML_SEQUENCE_END_EVENT); i++) {
        size_t found = place_wanted_index(set, n, i, mark(f));

        visit(f, set, found);
        set += found;
        n -= found;
    }
    step(f);
}

static void visit(struct finder *f, struct place_wanted **set, size_t n)
{
    n = place_wanted_open(set, n);
    if (n && f->event.type == YAML_MAPPING_START_EVENT)
        visit_mapping(f, set, n);
    else if (n && f->event.type == YAML_SEQUENCE_START_EVENT)
        visit_sequence(f, set, n);
    else
        skip(f);
}

void yaml_find(const char *text, size_t length, struct place_wanted *wanted, size_t n)
{
    struct finder f = {0};
    _cleanup_free_ struct place_wanted **set = NULL;

    if (!yaml_parser_initialize(&f.parser))
        abort(); /* no memory */
    yaml_parser_set_input_string(&f.parser, (const unsigned char *)text, length);
    do
        step(&f);
    while (f.event.type == YAML_STREAM_START_EVENT || f.event.type == YAML_DOCUMENT_START_EVENT);
    set = place_wanted_begin(wanted, n, (struct yaml_mark){1, 1});
    for (size_t i = 0; i < n && f.event.type != YAML_NO_EVENT; i++)
        wanted[i].mark = mark(&f);
    visit(&f, set, n);
    place_wanted_end(wanted, n);
    yaml_event_delete(&f.event);
    yaml_parser_delete(&f.parser);
}

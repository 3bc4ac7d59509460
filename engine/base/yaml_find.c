/* Where a path stands in YAML: reads the events of a document down to it, and no further. */
#include <string.h>
#include <yaml.h>

#include "engine/base/path.h"
#include "engine/base/str.h"
#include "engine/base/yaml.h"

struct finder {
    yaml_parser_t parser;
    yaml_event_t event; /* the next one; type YAML_NO_EVENT: there is none any more */
    struct yaml_mark mark;
};

static void step(struct finder *f)
{
    yaml_event_delete(&f->event);
    if (!yaml_parser_parse(&f->parser, &f->event))
        f->event.type = YAML_NO_EVENT;
}

static void note(struct finder *f)
{
    f->mark = (struct yaml_mark){f->event.start_mark.line + 1, f->event.start_mark.column + 1};
}

/* Goes past the node that the next event begins. */
static void skip(struct finder *f)
{
    size_t depth = 0;

    do {
        switch (f->event.type) {
        case YAML_MAPPING_START_EVENT:
        case YAML_SEQUENCE_START_EVENT:
            depth++;
            break;
        case YAML_MAPPING_END_EVENT:
        case YAML_SEQUENCE_END_EVENT:
            depth--;
            break;
        case YAML_NO_EVENT:
            return;
        default:
            break;
        }
        step(f);
    } while (depth > 0);
}

static bool is_key(const struct finder *f, const struct buf *key)
{
    return f->event.type == YAML_SCALAR_EVENT && f->event.data.scalar.length == key->length &&
           memcmp(f->event.data.scalar.value, key->data, key->length) == 0;
}

/* The next event becomes the member's value. False: there is no such member. */
static bool enter_member(struct finder *f, const struct buf *key)
{
    step(f);
    while (f->event.type != YAML_MAPPING_END_EVENT && f->event.type != YAML_NO_EVENT) {
        if (is_key(f, key)) {
            note(f);
            step(f);
            return true;
        }
        skip(f);
        skip(f);
    }
    return false;
}

static bool enter_item(struct finder *f, const struct buf *text)
{
    int64_t index;

    if (!str_to_int64(text->data, &index) || index < 0)
        return false;
    step(f);
    for (; index > 0 && f->event.type != YAML_SEQUENCE_END_EVENT; index--) {
        if (f->event.type == YAML_NO_EVENT)
            return false;
        skip(f);
    }
    if (f->event.type == YAML_SEQUENCE_END_EVENT || f->event.type == YAML_NO_EVENT)
        return false;
    note(f);
    return true;
}

static bool enter(struct finder *f, const struct buf *key)
{
    if (f->event.type == YAML_MAPPING_START_EVENT)
        return enter_member(f, key);
    return f->event.type == YAML_SEQUENCE_START_EVENT && enter_item(f, key);
}

struct yaml_mark yaml_find(const char *text, size_t length, const char *path)
{
    struct finder f = {.mark = {1, 1}};
    _cleanup_buf_ struct buf key = BUF_INIT;

    if (!yaml_parser_initialize(&f.parser))
        abort(); /* no memory */
    yaml_parser_set_input_string(&f.parser, (const unsigned char *)text, length);
    do
        step(&f);
    while (f.event.type == YAML_STREAM_START_EVENT || f.event.type == YAML_DOCUMENT_START_EVENT);
    if (f.event.type != YAML_NO_EVENT)
        note(&f);
    for (const char *at = path; (at = path_step(path, at, &key));)
        if (!enter(&f, &key))
            break;
    yaml_event_delete(&f.event);
    yaml_parser_delete(&f.parser);
    return f.mark;
}

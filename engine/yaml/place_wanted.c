#include "engine/yaml/place_wanted.h"

#include <stdint.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/path.h"

/* Puts the path's next step into wanted->step. False: the path ends here, or is malformed. */
static bool take_step(struct place_wanted *wanted)
{
    wanted->rest = wanted->rest ? path_step(wanted->path, wanted->rest, &wanted->step) : NULL;
    return wanted->rest;
}

static void move_to_front(struct place_wanted **set, size_t front, size_t at, struct yaml_mark mark)
{
    struct place_wanted *wanted = set[at];

    set[at] = set[front];
    set[front] = wanted;
    wanted->mark = mark;
}

size_t place_wanted_key(struct place_wanted **set, size_t n, const char *key, size_t length,
                        struct yaml_mark mark)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (set[i]->step.length == length && memcmp(set[i]->step.data, key, length) == 0)
            move_to_front(set, count++, i, mark);
    return count;
}

size_t place_wanted_index(struct place_wanted **set, size_t n, size_t index, struct yaml_mark mark)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        int64_t step;

        if (str_to_int64(set[i]->step.data, &step) && step == (int64_t)index)
            move_to_front(set, count++, i, mark);
    }
    return count;
}

size_t place_wanted_open(struct place_wanted **set, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (take_step(set[i]))
            move_to_front(set, count++, i, set[i]->mark);
    return count;
}

struct place_wanted **place_wanted_begin(struct place_wanted *wanted, size_t n,
                                         struct yaml_mark mark)
{
    struct place_wanted **set = NEW_ARRAY(struct place_wanted *, n + 1);

    for (size_t i = 0; i < n; i++) {
        buf_init(&wanted[i].step, 0);
        wanted[i].rest = wanted[i].path;
        wanted[i].mark = mark;
        set[i] = &wanted[i];
    }
    return set;
}

void place_wanted_end(struct place_wanted *wanted, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_done(&wanted[i].step);
}

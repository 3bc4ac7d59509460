#include "test/unit/engine/operation/ending.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "test/unit/suite.h"

/* Records are in the order in which they came to be, which is another after a kill. */
static void show_state(struct stage *stage, char *ret, size_t size)
{
    _cleanup_free_ char *text = str_new(stage_state(stage));
    const char *words[16];
    size_t n = 0, length = 0;

    for (char *at = text; *at && n < ARRAY_SIZE(words);) {
        words[n++] = at;
        at += strcspn(at, " ");
        if (*at)
            *at++ = '\0';
    }
    qsort(words, n, sizeof(*words), str_compare);
    ret[0] = '\0';
    for (size_t i = 0; i < n; i++)
        length += (size_t)snprintf(ret + length, size - length, "%s ", words[i]);
}

struct ending ending_of(struct stage *stage)
{
    struct ending ending = {.steps = stage->world.steps,
                            .objects_made = stage->objects.creates,
                            .things_made = stage->cloud.creates};

    snprintf(ending.objects, sizeof(ending.objects), "%s", stage_objects(stage));
    snprintf(ending.cloud, sizeof(ending.cloud), "%s", stage_cloud(stage));
    show_state(stage, ending.state, sizeof(ending.state));
    return ending;
}

void ending_expect(struct stage *stage, const struct ending *ending, unsigned cleared,
                   const char *note)
{
    struct ending now = ending_of(stage);

    EXPECT_STR(now.objects, ending->objects, note);
    EXPECT_STR(now.cloud, ending->cloud, note);
    EXPECT_STR(now.state, ending->state, note);
    EXPECT_INT(now.objects_made, ending->objects_made, note);
    EXPECT_INT(now.things_made, ending->things_made + cleared, note);
}

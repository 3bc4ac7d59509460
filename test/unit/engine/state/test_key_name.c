#include "engine/state/key_name.h"

#include "engine/base/str.h"
#include "test/unit/suite.h"

static void names_keys_apart(void)
{
    static const struct spec_key keys[] = {{"a", "b"}, {"a", "c"}, {"a/b", "c"}, {"b", "a"}};
    char names[ARRAY_SIZE(keys)][STATE_NAME_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        state_key_name(&keys[i], names[i]);
        EXPECT(str_has_prefix(names[i], "kusion-") && strlen(names[i]) == STATE_NAME_SIZE - 1,
               names[i]);
        EXPECT(str_is_dns_label(names[i]), "a label's value, an object's name");
        for (size_t k = 0; k < i; k++)
            EXPECT(strcmp(names[i], names[k]) != 0, names[i]);
    }
}

SUITE(key_name, TEST(names_keys_apart))

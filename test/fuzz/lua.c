/*
 * A health check in Lua. The first line is a pattern, the second a text, all else is a script. The
 * pattern matches as often as the budget lets it, never outside of the text. The script ends within
 * its bounds, with a verdict or with an error, and says the same a second time, unless it is the
 * time that ended it.
 */
#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "runtimes/lua/pattern.h"
#include "runtimes/lua/script.h"
#include "test/fuzz/fuzz.h"

#define STEPS 20000

static void match(const char *pattern, const char *text)
{
    int64_t steps = STEPS;
    struct pattern p = {.text = text,
                        .text_end = text + strlen(text),
                        .pattern = pattern,
                        .pattern_end = pattern + strlen(pattern),
                        .steps = &steps};

    for (const char *at = text; at <= p.text_end && steps >= 0; at++) {
        const char *end = pattern_match(&p, at);

        must(!end || (end >= at && end <= p.text_end && !p.error));
        must(steps >= 0 || p.error);
        for (unsigned i = 0; end && i < p.n_captures; i++) {
            const struct pattern_capture *capture = &p.captures[i];

            must(capture->start >= text && capture->start <= p.text_end);
            must(capture->length <= p.text_end - capture->start);
        }
    }
    must(steps > -(int64_t)(strlen(text) + strlen(pattern)) - 100);
}

static int judge(const char *script, const struct value *object, struct script_verdict *ret,
                 struct error *error)
{
    int r = script_judge(script, strlen(script), object, NULL, ret, error);

    must_agree(r, error);
    must(r == 0 || r == ERR_INVALID);
    must(strlen(ret->message) <= SCRIPT_MESSAGE);
    must(utf8_valid(ret->message, strlen(ret->message)) == strlen(ret->message));
    must(!strpbrk(ret->message, "\n\r\t"));
    must(r == 0 || (ret->status == SCRIPT_NO_OPINION && !*ret->message));
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *pattern = take_line(&data, &size), *text = take_line(&data, &size);
    _cleanup_free_ char *script = str_new_n((const char *)data, size);
    _cleanup_value_ const struct value *object = value_pack(
        "{s:s, s:{s:s}, s:[i, n, s]}", "kind", "A", "status", "phase", text, "list", 1, "b");
    struct script_verdict first, second;
    struct error error = {0}, again = {0};

    match(pattern, text);
    if (judge(script, object, &first, &error) == judge(script, object, &second, &again)) {
        must(first.status == second.status && str_equal(first.message, second.message));
        must(str_equal(error.message, again.message));
    } else {
        must(false);
    }
    return 0;
}

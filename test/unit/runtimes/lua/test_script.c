#include "runtimes/lua/script.h"

#include <pthread.h>
#include <time.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/base/yaml.h"
#include "test/unit/suite.h"

#define RETURNS(message) "return {status = \"Healthy\", message = tostring(" message ")}"

static int64_t cpu_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static const struct value *object_of(const char *text)
{
    const struct value *object = NULL;
    struct error error = {0};

    EXPECT_INT(yaml_read(text, strlen(text), &object, &error), 0, text);
    return object;
}

static int judge(const char *script, const char *object, struct script_verdict *ret,
                 struct error *error)
{
    _cleanup_value_ const struct value *obj = object_of(object);

    return script_judge(script, strlen(script), obj, cpu_ms, ret, error);
}

static void says_what_the_script_says(void)
{
    static const struct {
        const char *script, *object;
        enum script_status status;
        const char *message;
    } rows[] = {
        {"hs = {}\nhs.status = 'Healthy'\nhs.message = 'all there'\nreturn hs", "{}",
         SCRIPT_HEALTHY, "all there"},
        {"return {status = 'Progressing'}", "{}", SCRIPT_PROGRESSING, ""},
        {"return {status = 'Degraded', message = 7}", "{}", SCRIPT_DEGRADED, "7"},
        {"return {status = 'Suspended', message = 1.5}", "{}", SCRIPT_SUSPENDED, "1.5"},
        {"return {status = 'Missing'}", "{}", SCRIPT_MISSING, ""},
        {"return {status = 'Unknown'}", "{}", SCRIPT_UNKNOWN, ""},
        {"return {}", "{}", SCRIPT_NO_OPINION, ""},
        {"return nil", "{}", SCRIPT_NO_OPINION, ""},
        {"", "{}", SCRIPT_NO_OPINION, ""},
        {RETURNS("obj.a.b[2].c"), "{a: {b: [{c: 1}, {c: x}]}}", SCRIPT_HEALTHY, "x"},
        {RETURNS("#obj.a"), "{a: [1, 2, 3]}", SCRIPT_HEALTHY, "3"},
        {RETURNS("obj.a"), "{a: null}", SCRIPT_HEALTHY, "nil"},
        {RETURNS("obj.a + 1"), "{a: 2}", SCRIPT_HEALTHY, "3"},
        {RETURNS("obj.a"), "{a: 9007199254740993}", SCRIPT_HEALTHY, "9007199254740993"},
        {RETURNS("obj.a"), "{a: 1.25}", SCRIPT_HEALTHY, "1.25"},
        {RETURNS("obj.a"), "{a: 1e3}", SCRIPT_HEALTHY, "1000.0"},
        {RETURNS("obj.a == true"), "{a: true}", SCRIPT_HEALTHY, "true"},
        {RETURNS("'a\\tb\\nc\\0d\\226\\128\\174e\\255'"), "{}", SCRIPT_HEALTHY, "a b c d\\u202ee?"},
        {RETURNS("obj"), "{a: 1}", SCRIPT_HEALTHY, "table"},
        {RETURNS("string.format('%s %d', obj, 3)"), "{a: 1}", SCRIPT_HEALTHY, "table 3"},
        {RETURNS("os.time{year = 2024, month = 2, day = 29, hour = 1, min = 2, sec = 3}"), "{}",
         SCRIPT_HEALTHY, "1709168523"},
        {RETURNS("os.time{year = 2023, month = 14, day = 0}"), "{}", SCRIPT_HEALTHY, "1706702400"},
        {RETURNS("os.time{year = 1969, month = 12, day = 31}"), "{}", SCRIPT_HEALTHY, "-43200"},
        {RETURNS("os.time{year = -1, month = 3, day = 1, hour = 0}"), "{}", SCRIPT_HEALTHY,
         "-62193657600"},
        {RETURNS("table.getn{1, 2}"), "{}", SCRIPT_HEALTHY, "2"},
        {RETURNS("select('#', unpack{1, 2})"), "{}", SCRIPT_HEALTHY, "2"},
        {RETURNS("2^1024 - 1"), "{}", SCRIPT_HEALTHY, "inf"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct script_verdict verdict;
        struct error error = {0};

        EXPECT_INT(judge(rows[i].script, rows[i].object, &verdict, &error), 0, rows[i].script);
        EXPECT_STR(error.message, "", rows[i].script);
        EXPECT_INT(verdict.status, rows[i].status, rows[i].script);
        EXPECT_STR(verdict.message, rows[i].message, rows[i].script);
    }
}

static void says_what_is_wrong(void)
{
    static const struct {
        const char *script, *reason, *message;
    } rows[] = {
        {"return {status = 'healthy'}", "HealthCheckFailed", "returned no status that is one of"},
        {"return {message = 'a'}", "HealthCheckFailed", "returned no status"},
        {"return {status = {}}", "HealthCheckFailed", "returned no status"},
        {"return {status = 'Healthy', message = {}}", "HealthCheckFailed",
         "returned a message that is a table"},
        {"return 'Healthy'", "HealthCheckFailed", "returned a string, and no table"},
        {"hs = {}\nif obj.status.phase == 'a' then\nend", "HealthCheckFailed",
         "health.lua:2: attempt to index a nil value (field 'status')"},
        {"error('own words')", "HealthCheckFailed", "health.lua:1: own words"},
        {"error({})", "HealthCheckFailed", "it raised an error without a text"},
        {"return {status = }", "InvalidSpec", "health.lua:1: unexpected symbol near '}'"},
        {"x = = 1", "InvalidSpec", "health.lua:1: "},
        {"\033Lua", "InvalidSpec", "attempt to load a binary chunk (mode is 't')"},
        {"return os.time()", "HealthCheckFailed", "health does not depend on the clock"},
        {"return os.time{year = 2024}", "HealthCheckFailed", "field 'month' missing in date table"},
        {"return string.format('%p', {})", "HealthCheckFailed", "invalid conversion"},
        {"return string.format('\\0%p', 'a')", "HealthCheckFailed", "invalid conversion"},
        {"local t = {1} for i = 1, 62 do t[1 << i] = 1 end t[5] = 1 t[math.maxinteger] = 1\n"
         "table.insert(t, 1)",
         "HealthCheckFailed", "health.lua:2: the table is too long"},
        {"for k in pairs{[{}] = 1} do end", "HealthCheckFailed",
         "a key that is a table has no order"},
        {"print('a')", "HealthCheckFailed", "global 'print'"},
        {"io.open('/etc/passwd')", "HealthCheckFailed", "global 'io'"},
        {"os.execute('true')", "HealthCheckFailed", "field 'execute'"},
        {"os.getenv('HOME')", "HealthCheckFailed", "field 'getenv'"},
        {"require('os')", "HealthCheckFailed", "global 'require'"},
        {"load('return 1')()", "HealthCheckFailed", "global 'load'"},
        {"dofile('/etc/passwd')", "HealthCheckFailed", "global 'dofile'"},
        {"debug.sethook()", "HealthCheckFailed", "global 'debug'"},
        {"pcall(error)", "HealthCheckFailed", "global 'pcall'"},
        {"xpcall(error, error)", "HealthCheckFailed", "global 'xpcall'"},
        {"coroutine.wrap(error)()", "HealthCheckFailed", "global 'coroutine'"},
        {"setmetatable({}, {__gc = error})", "HealthCheckFailed", "global 'setmetatable'"},
        {"getmetatable('').__index = error", "HealthCheckFailed", "global 'getmetatable'"},
        {"collectgarbage('stop')", "HealthCheckFailed", "global 'collectgarbage'"},
        {"math.random()", "HealthCheckFailed", "field 'random'"},
        {"table.move({}, 1, 1e15, 2)", "HealthCheckFailed", "field 'move'"},
        {"string.dump(error)", "HealthCheckFailed", "field 'dump'"},
        {"string.pack('i', 1)", "HealthCheckFailed", "field 'pack'"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct script_verdict verdict;
        struct error error = {0};

        EXPECT_INT(judge(rows[i].script, "{}", &verdict, &error), ERR_INVALID, rows[i].script);
        EXPECT_STR(error.reason, rows[i].reason, rows[i].script);
        EXPECT(strstr(error.message, rows[i].message) != NULL, error.message);
        EXPECT_INT(verdict.status, SCRIPT_NO_OPINION, rows[i].script);
    }
}

#define STEPS  "more steps"
#define MEMORY "more memory"
#define EITHER "more " /* than a health check may have */

/* Each ends by a bound that does not depend on how fast the machine is: the steps and the memory.
 */
static void ends_hostile_scripts(void)
{
    static const struct {
        const char *script, *message;
    } rows[] = {
        {"while true do end", "health.lua:1: it takes " STEPS},
        {"::a:: goto a", STEPS},
        {"local function f() return f() end f()", STEPS},
        {"local function f() return 1 + f() end f()", MEMORY},
        {"local s = 'x' while true do s = s .. s end", MEMORY},
        {"local t = {} while true do t[#t + 1] = {} end", MEMORY},
        {"local s = string.rep('x', 1 << 30)", "resulting string too large"},
        {"local s = string.rep('', 1 << 62)\nwhile true do end", "health.lua:2: it takes " STEPS},
        {"string.rep('', 1 << 62, 'x')", "resulting string too large"},
        {"local s = string.rep('x', 1 << 18) while true do s:lower() end", STEPS},
        {"local s = string.rep('x', 1 << 18) while true do tonumber(s) end", STEPS},
        {"local s = string.rep('x', 1 << 18) while true do s:len() end", STEPS},
        {"local s = string.rep('x', 1 << 18) while true do s:find('y', 1, true) end", STEPS},
        {"local s = string.rep('a', 200) s:find(string.rep('a*', 12) .. 'b')", STEPS},
        {"local s = string.rep('a', 1 << 17) s:gsub('.-b', '')", STEPS},
        {"local s = string.rep('a', 1 << 17) for _ in s:gmatch('.-b') do end", STEPS},
        {"local s = string.rep('(', 1 << 17) s:match('%b()')", STEPS},
        {"local s = string.rep('a', 300) s:match(string.rep('a?', 250) .. 'b')",
         "pattern too complex"},
        {"local s = string.rep('a', 1 << 10) s:match(string.rep('(', 33))", "too many captures"},
        {"local s = string.rep('x', 1 << 17) s:gsub('', s)", EITHER},
        {"local s = string.rep('x', 1 << 17) s:gsub('.', function() while true do end end)", STEPS},
        {"local s = string.rep('x', 1000) while true do s:byte(1, -1) end", EITHER},
        {"unpack({}, 1, 1e7)", "too many results to unpack"},
        {"local t = {1} for i = 1, 62 do t[1 << i] = 1 end t[5] = 1 t[9] = 1 table.insert(t, 1, 1)",
         STEPS},
        {"local t = {1} for i = 1, 62 do t[1 << i] = 1 end t[5] = 1 t[9] = 1 table.remove(t, 1)",
         STEPS},
        {"local t = {1} for i = 1, 62 do t[1 << i] = 1 end t[5] = 1 t[9] = 1 table.sort(t)",
         EITHER},
        {"local t = {} for i = 1, 1e4 do t[i] = i end\nwhile true do table.insert(t, 1, 1) end",
         EITHER},
        {"local a = string.rep('x', 1 << 17) local t = {}\n"
         "for i = 1, 2000 do t[i] = a .. (i % 2) end table.sort(t)",
         MEMORY},
        {"local a = string.rep('x', 1 << 17) local b, c, t = a .. 'y', a .. 'z', {}\n"
         "for i = 1, 20000 do t[i] = i % 2 == 0 and b or c end table.sort(t)",
         STEPS},
        {"local function f() ('a'):gsub('(a)', f) end f()", "too many calls inside each other"},
        {"table.sort({1, 2, 3}, function() while true do end end)", STEPS},
        {"local t = {} for i = 1, 2000 do t[i] = i end\n"
         "table.sort(t, function() return true end)",
         "invalid order function"},
        {"local t = {} for i = 1, 3000 do t['k' .. i] = i end while true do next(t) end", STEPS},
        {"local t = {} for i = 1, 3000 do t['k' .. i] = i end while true do pairs(t) end", EITHER},
        {"for i = 1, math.huge do end", STEPS},
        {"for i = 1, 1e9 do string.format('%99.99f', i) end", STEPS},
        {"local f = function() end while true do f = (function(g) return function() g() end "
         "end)(f) "
         "end",
         MEMORY},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *object = object_of("{a: 1}");
        struct script_verdict verdict;
        struct error error = {0};

        EXPECT_INT(
            script_judge(rows[i].script, strlen(rows[i].script), object, NULL, &verdict, &error),
            ERR_INVALID, rows[i].script);
        EXPECT(strstr(error.message, rows[i].message) != NULL, rows[i].script);
        EXPECT(strstr(error.message, rows[i].message) != NULL, error.message);
    }
}

/* What no count of steps sees ends by the time. */
static void ends_what_takes_long(void)
{
    static const char *const rows[] = {
        "local a, b = string.rep('x', 1 << 17), string.rep('x', 1 << 17)\n"
        "while true do local c = a == b end",
        "local a, b = string.rep('x', 1 << 17), string.rep('x', 1 << 17)\n"
        "while true do local c = a < b end",
        "local t = {} for i = 1, 5000 do t[i] = '' end while true do table.concat(t) end",
        "local t = {} for i = 1, 5000 do t[i] = 1 end while true do select('#', unpack(t)) end",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct script_verdict verdict;
        struct error error = {0};
        struct timespec from, to;
        int64_t ms;

        clock_gettime(CLOCK_MONOTONIC, &from);
        EXPECT_INT(judge(rows[i], "{}", &verdict, &error), ERR_INVALID, rows[i]);
        clock_gettime(CLOCK_MONOTONIC, &to);
        ms = (int64_t)(to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
        EXPECT(strstr(error.message, EITHER) != NULL, error.message);
        EXPECT(ms < 30000, rows[i]); /* without a bound: minutes */
    }
}

static char *nested(const char *open, const char *inside, const char *close, size_t n)
{
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < n; i++)
        buf_add_str(&text, open);
    buf_add_str(&text, inside);
    for (size_t i = 0; i < n; i++)
        buf_add_str(&text, close);
    return buf_take(&text);
}

/* Lua's functions and its parser call themselves: the stack of the thread has to be enough. */
static void goes_deep(void)
{
    static const struct {
        const char *open, *inside, *close;
        size_t n;
    } rows[] = {
        {"return ", "1", "", 1},
        {"(", "1", ")", 300},
        {"x = {", "", "}", 1},
        {"if true then ", "", " end ", 190},
        {"if true then ", "", " end ", 3000},
        {"while true do (function() ", "", " end)() end ", 150},
        {"('a'):gsub('a', function() ", "", " end) ", 150},
        {"table.sort({1, 2}, function() ", "", " return true end) ", 150},
        {"x = -", "- ", "1", 5000},
        {"a.", "a()", "", 5000},
        {"", "local function f() ('a'):gsub('(a)', f) end f()", "", 1},
        {"", "local function f() table.sort({1, 2, 3}, f) end f()", "", 1},
        {"", "local function f() for a in ('a'):gmatch('a') do f() end end f()", "", 1},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = nested(rows[i].open, rows[i].inside, rows[i].close, rows[i].n);
        struct script_verdict verdict;
        struct error error = {0};
        int r = judge(text, "{}", &verdict, &error);

        EXPECT(r == 0 || r == ERR_INVALID, rows[i].open);
    }
}

static void refuses_what_is_too_large(void)
{
    _cleanup_free_ char *text = nested("--\n", "", "", SCRIPT_BYTES / 3 + 1);
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *object = NULL;
    struct script_verdict verdict;
    struct error error = {0};

    EXPECT_INT(script_check(text, strlen(text), &error), ERR_INVALID, "");
    EXPECT(strstr(error.message, "bytes, 65536 at most") != NULL, error.message);
    value_begin_array(b);
    for (size_t i = 0; i < 3000000; i++)
        value_add_int(b, 1);
    value_end_array(b);
    object = value_finish(b);
    EXPECT_INT(script_judge("", 0, object, NULL, &verdict, &error), ERR_INVALID, "");
    EXPECT(strstr(error.message, "too large for a health check") != NULL, error.message);
}

/* By sorted keys, whatever the order in memory. */
static void walks_in_one_order(void)
{
    static const struct {
        const char *script, *message;
    } rows[] = {
        {"local s = '' for k, v in pairs(obj) do s = s .. k .. '=' .. v .. ' ' end\n"
         "return {status = 'Healthy', message = s}",
         "a=6 b=2 c=7 d=4 e=1 f=3 g=5 "},
        {"local s, k, v = '', next(obj) while k do s = s .. k .. v k, v = next(obj, k) end\n"
         "return {status = 'Healthy', message = s}",
         "a6b2c7d4e1f3g5"},
        {"local s, t = '', {[3] = 1, [1.5] = 1, [-2] = 1, x = 1, [true] = 1, [false] = 1, ab = 1}\n"
         "for k in pairs(t) do s = s .. tostring(k) .. ' ' end\n"
         "return {status = 'Healthy', message = s}",
         "-2 1.5 3 ab x false true "},
        {"local n = 0 for k in pairs(obj) do obj[k] = nil n = n + 1 end\n"
         "return {status = 'Healthy', message = n .. tostring(next(obj))}",
         "7nil"},
        {"local s = '' for k in pairs(obj) do s = s .. k obj.b = nil end\n"
         "return {status = 'Healthy', message = s}",
         "acdefg"},
        {"local s = '' for i, v in ipairs({'x', 'y', nil, 'z'}) do s = s .. i .. v end\n"
         "return {status = 'Healthy', message = s}",
         "1x2y"},
        {"local t = {3, 1, 2} table.sort(t) table.insert(t, 4) table.insert(t, 1, 0)\n"
         "local r = table.remove(t) local f = table.remove(t, 1)\n"
         "return {status = 'Healthy', message = table.concat(t, ',') .. r .. f .. #t .. "
         "tostring(table.remove({}))}",
         "1,2,3403nil"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (int run = 0; run < 3; run++) {
            struct script_verdict verdict;
            struct error error = {0};

            EXPECT_INT(judge(rows[i].script, "{e: 1, b: 2, f: 3, d: 4, g: 5, a: 6, c: 7}", &verdict,
                             &error),
                       0, rows[i].script);
            EXPECT_STR(error.message, "", rows[i].script);
            EXPECT_STR(verdict.message, rows[i].message, rows[i].script);
        }
}

static void hides_secrets(void)
{
    static const char script[] = "return {status = 'Healthy', message = obj.data.a .. obj.kind .. "
                                 "tostring(obj.data.b)}";
    _cleanup_value_ const struct value *data = value_pack("{s:s, s:i}", "a", "hunter2", "b", 5);
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_value_ const struct value *object = NULL;
    struct script_verdict verdict;
    struct error error = {0};

    value_begin_object(b);
    value_key(b, "kind");
    value_add_string(b, "Secret");
    value_key(b, "data");
    value_add_sensitive(b, data);
    value_end_object(b);
    object = value_finish(b);
    EXPECT_INT(script_judge(script, strlen(script), object, NULL, &verdict, &error), 0, "");
    EXPECT_STR(verdict.message, "(sensitive)Secret(sensitive)", "");
}

static void cuts_long_messages(void)
{
    struct script_verdict verdict;
    struct error error = {0};

    EXPECT_INT(judge("return {status = 'Healthy', message = string.rep('x', 5000)}", "{}", &verdict,
                     &error),
               0, "");
    EXPECT_INT((long long)strlen(verdict.message), SCRIPT_MESSAGE, "");
    EXPECT(str_has_suffix(verdict.message, "x…"), verdict.message);
}

/* Runs share nothing. */
static void *run_often(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++) {
        struct script_verdict verdict;
        struct error error = {0};

        EXPECT_INT(judge("x = (x or 0) + 1 " RETURNS("x"), "{}", &verdict, &error), 0, "");
        EXPECT_STR(verdict.message, "1", "");
    }
    return NULL;
}

static void runs_beside_others(void)
{
    pthread_t threads[4];

    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, run_often, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
}

SUITE(lua_script, TEST(says_what_the_script_says), TEST(says_what_is_wrong),
      TEST(ends_hostile_scripts), TEST(ends_what_takes_long), TEST(goes_deep),
      TEST(refuses_what_is_too_large), TEST(walks_in_one_order), TEST(hides_secrets),
      TEST(cuts_long_messages), TEST(runs_beside_others))

#include "runtimes/lua/pattern.h"

#include <lauxlib.h>
#include <lualib.h>

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "runtimes/lua/library.h"
#include "runtimes/lua/machine.h"
#include "test/unit/suite.h"

/* What one Lua says: of Lua's own library, or of ours. */
static void ask(lua_State *lua, const char *script, const char *text, const char *pattern,
                struct buf *ret)
{
    lua_settop(lua, 0);
    EXPECT_INT(luaL_loadstring(lua, script), 0, script);
    lua_pushstring(lua, text);
    lua_pushstring(lua, pattern);
    if (lua_pcall(lua, 2, LUA_MULTRET, 0) != LUA_OK) {
        const char *why = lua_tostring(lua, -1), *place = strstr(why, ": ");

        buf_printf(ret, "error %s", place ? place + 2 : why);
        return;
    }
    for (int i = 1, n = lua_gettop(lua); i <= n; i++) {
        buf_printf(ret, "[%s]", luaL_tolstring(lua, i, NULL));
        lua_pop(lua, 1);
    }
}

static const char *const scripts[] = {
    "local s, p = ... return string.find(s, p)",
    "local s, p = ... return string.find(s, p, 3)",
    "local s, p = ... return string.find(s, p, -2)",
    "local s, p = ... return string.match(s, p)",
    "local s, p = ... return string.gsub(s, p, '<%0>')",
    "local s, p = ... return string.gsub(s, p, '%1%%', 2)",
    "local s, p = ... return string.gsub(s, p, {a = 'x', b = false, ab = 7})",
    "local s, p = ... return string.gsub(s, p, function(a, b) return b or a end)",
    "local s, p = ... local t = {} for a, b in string.gmatch(s, p) do t[#t + 1] = tostring(a) .. "
    "tostring(b) end return table.concat(t, ',')",
};

static void open_both(lua_State **ret_lua, struct machine *machine)
{
    *ret_lua = luaL_newstate();
    luaL_requiref(*ret_lua, "_G", luaopen_base, 1);
    luaL_requiref(*ret_lua, "string", luaopen_string, 1);
    luaL_requiref(*ret_lua, "table", luaopen_table, 1);
    EXPECT(machine_init(machine, 1u << 20), "");
    library_open(machine->lua);
}

static void compare(lua_State *lua, struct machine *machine, const char *text, const char *pattern)
{
    for (size_t i = 0; i < ARRAY_SIZE(scripts); i++) {
        _cleanup_buf_ struct buf theirs = BUF_INIT, ours = BUF_INIT;
        _cleanup_free_ char *note = str_printf("%s: %s, %s", scripts[i], text, pattern);

        ask(lua, scripts[i], text, pattern, &theirs);
        ask(machine->lua, scripts[i], text, pattern, &ours);
        /* Ours does not say which capture, or which character. */
        if (str_has_prefix(theirs.data, "error invalid capture index"))
            EXPECT(str_has_prefix(ours.data, "error invalid capture index"), note);
        else
            EXPECT_STR(ours.data, theirs.data, note);
    }
}

static void matches_as_lua_does(void)
{
    static const struct {
        const char *text, *pattern;
    } rows[] = {
        {"", ""},
        {"abc", ""},
        {"hello world", "o w"},
        {"hello world", "(%a+) (%a+)"},
        {"key = value", "^(%w+)%s*=%s*(%w+)$"},
        {"THE (quick) fox", "%((%a+)%)"},
        {"THE (quick) fox", "%f[%a]%a+%f[%A]"},
        {"f(a(b)c)d", "%b()"},
        {"abcabc", "(a)(b)%2?%1*"},
        {"x]y-z^w", "[]%-^]"},
        {"x]y-z^w", "[^]%-^]"},
        {"2024-02-29T01:02:03Z", "(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)Z"},
        {"abc", "()b()"},
        {"aaa", "a-"},
        {"aaa", "^a-$"},
        {"aaa", "(a*(.)%w(%s*))"},
        {"a.b", "."},
        {"a%b", "%%"},
        {"abc", "[a-"},
        {"abc", "[a"},
        {"abc", "[]"},
        {"abc", "[^]"},
        {"abc", "[%"},
        {"abc", "[%a"},
        {"abc", "%"},
        {"abc", "("},
        {"abc", ")"},
        {"abc", "(()"},
        {"abc", "%1"},
        {"abc", "(%1)"},
        {"abc", "%0"},
        {"abc", "%b"},
        {"abc", "%ba"},
        {"abc", "%f"},
        {"abc", "%fa"},
        {"abc", "%f[a"},
        {"a$b^c", "$b^"},
        {"abc", "^^a"},
        {"$", "$$"},
        {"-", "^-"},
        {"a-z", "[a-]"},
        {"a-z", "[-z]+"},
        {"a-z", "[a-z-]+"},
        {"xyz", "[z-a]"},
        {"aXb", "%u"},
        {"aXb", "%U+"},
        {"a b\tc", "%S+"},
        {"a,b;c", "%p"},
        {"0xFFg", "%x+"},
        {"\001\002a", "%c+"},
        {"a\nb", "[%s%c]"},
    };
    struct machine machine;
    lua_State *lua;

    open_both(&lua, &machine);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        compare(lua, &machine, rows[i].text, rows[i].pattern);
    machine_done(&machine);
    lua_close(lua);
}

static void matches_patterns_of_chance(void)
{
    static const char *const parts[] = {"a", "b",  ".", "%a", "%d", "[ab]",  "[^a]", "(",
                                        ")", "()", "*", "+",  "-",  "?",     "%1",   "%b()",
                                        "^", "$",  "%", "[",  "]",  "%f[a]", "1"};
    static const char letters[] = "aab1()b";
    struct machine machine;
    uint32_t seed = 7;
    lua_State *lua;

    open_both(&lua, &machine);
    for (int round = 0; round < 3000; round++) {
        char text[16], pattern[64] = "";
        size_t length = 0, n;

        seed = seed * 1664525 + 1013904223;
        n = (seed >> 20) % sizeof(text);
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            text[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
        }
        text[n] = '\0';
        n = (seed >> 12) % 7;
        for (size_t i = 0; i < n; i++) {
            const char *part;

            seed = seed * 1664525 + 1013904223;
            part = parts[(seed >> 16) % ARRAY_SIZE(parts)];
            length += (size_t)snprintf(pattern + length, sizeof(pattern) - length, "%s", part);
        }
        compare(lua, &machine, text, pattern);
    }
    machine_done(&machine);
    lua_close(lua);
}

static void counts_steps(void)
{
    static const char text[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                      items[] = "a*a*a*a*a*a*b";
    int64_t steps = 1000;
    struct pattern pattern = {.text = text,
                              .text_end = text + sizeof(text) - 1,
                              .pattern = items,
                              .pattern_end = items + sizeof(items) - 1,
                              .steps = &steps};

    EXPECT(!pattern_match(&pattern, text), "");
    EXPECT_STR(pattern.error, "too many steps", "");
    EXPECT(steps < 0 && steps > -100, "it goes on no longer than the budget");
}

SUITE(lua_pattern, TEST(matches_as_lua_does), TEST(matches_patterns_of_chance), TEST(counts_steps))

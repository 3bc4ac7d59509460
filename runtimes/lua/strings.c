/* The functions of string. Those that match patterns do it by pattern.h. */
#include <lualib.h>
#include <stdbool.h>
#include <string.h>

#include "engine/base/cleanup.h"
#include "runtimes/lua/library.h"
#include "runtimes/lua/machine.h"
#include "runtimes/lua/pattern.h"

/* Where `init` begins, from 0; -1 counts from the end. It may be behind the end. */
static size_t start_of(lua_Integer init, size_t length)
{
    if (init > 0)
        return (size_t)init - 1;
    if (init == 0 || init < -(lua_Integer)length)
        return 0;
    return length - (size_t)-init;
}

/* ---- Matches ---- */

/* Of the arguments `text` and `pattern`, which stay on the stack meanwhile. */
static struct pattern pattern_of(lua_State *lua, int text, int pattern)
{
    size_t text_length, length;
    struct pattern p = {.text = luaL_checklstring(lua, text, &text_length),
                        .pattern = luaL_checklstring(lua, pattern, &length),
                        .steps = &machine_of(lua)->steps};

    p.text_end = p.text + text_length;
    p.pattern_end = p.pattern + length;
    machine_charge(lua, 1);
    return p;
}

static bool skip_anchor(struct pattern *p)
{
    bool is_anchored = p->pattern < p->pattern_end && *p->pattern == '^';

    p->pattern += is_anchored;
    return is_anchored;
}

/* pattern_match(); raises its error. */
static const char *try_at(lua_State *lua, struct pattern *p, const char *at)
{
    const char *end = pattern_match(p, at);

    if (*p->steps < 0)
        machine_raise_steps(lua);
    if (p->error)
        luaL_error(lua, "%s", p->error);
    return end;
}

/* The first match at `at` or behind it; *ret_at: where it begins. */
static const char *search(lua_State *lua, struct pattern *p, const char *at, bool is_anchored,
                          const char **ret_at)
{
    for (;; at++) {
        const char *end = try_at(lua, p, at);

        *ret_at = at;
        if (end || is_anchored || at == p->text_end)
            return end;
    }
}

/* Pushes a capture; the whole match, if it is the first and there is none. */
static void push_capture(lua_State *lua, const struct pattern *p, unsigned i, const char *at,
                         const char *end)
{
    if (i >= p->n_captures) {
        if (i > 0)
            luaL_error(lua, "invalid capture index %%%d", (int)i + 1);
        lua_pushlstring(lua, at, (size_t)(end - at));
    } else if (p->captures[i].length == PATTERN_POSITION) {
        lua_pushinteger(lua, p->captures[i].start - p->text + 1);
    } else if (p->captures[i].length == PATTERN_UNCLOSED) {
        luaL_error(lua, "unfinished capture");
    } else {
        lua_pushlstring(lua, p->captures[i].start, (size_t)p->captures[i].length);
    }
}

/* at: NULL: without the whole match. Returns how many were pushed. */
static int push_captures(lua_State *lua, const struct pattern *p, const char *at, const char *end)
{
    unsigned n = p->n_captures == 0 && at ? 1 : p->n_captures;

    luaL_checkstack(lua, (int)n, "too many captures");
    for (unsigned i = 0; i < n; i++)
        push_capture(lua, p, i, at, end);
    return (int)n;
}

static int find_or_match(lua_State *lua, bool finds)
{
    struct pattern p = pattern_of(lua, 1, 2);
    size_t length = (size_t)(p.text_end - p.text), of_pattern = (size_t)(p.pattern_end - p.pattern);
    size_t start = start_of(luaL_optinteger(lua, 3, 1), length);
    const char *at, *end;

    if (start > length) {
        lua_pushnil(lua);
        return 1;
    }
    at = p.text + start;
    if (finds && (lua_toboolean(lua, 4) || pattern_is_plain(p.pattern, of_pattern))) {
        machine_charge_bytes(lua, length + of_pattern);
        at = memmem(at, length - start, p.pattern, of_pattern);
        end = at ? at + of_pattern : NULL;
    } else {
        bool is_anchored = skip_anchor(&p);

        end = search(lua, &p, at, is_anchored, &at);
    }
    if (!end) {
        lua_pushnil(lua);
        return 1;
    }
    if (!finds)
        return push_captures(lua, &p, at, end);
    lua_pushinteger(lua, at - p.text + 1);
    lua_pushinteger(lua, end - p.text);
    return push_captures(lua, &p, NULL, NULL) + 2;
}

static int find(lua_State *lua)
{
    return find_or_match(lua, true);
}

static int match(lua_State *lua)
{
    return find_or_match(lua, false);
}

/* ---- gmatch ---- */

/* Upvalues: text, pattern, where to begin, where the last match ended; from 0. An empty match right
 * behind another one is none. */
static int next_match(lua_State *lua)
{
    struct pattern p = pattern_of(lua, lua_upvalueindex(1), lua_upvalueindex(2));
    const char *at = p.text + lua_tointeger(lua, lua_upvalueindex(3));
    const char *last = p.text + lua_tointeger(lua, lua_upvalueindex(4));
    bool has_last = !lua_isnil(lua, lua_upvalueindex(4));

    for (; at <= p.text_end; at++) {
        const char *end = try_at(lua, &p, at);

        if (!end || (has_last && end == last))
            continue;
        lua_pushinteger(lua, end - p.text);
        lua_copy(lua, -1, lua_upvalueindex(3));
        lua_replace(lua, lua_upvalueindex(4));
        return push_captures(lua, &p, at, end);
    }
    return 0;
}

static int match_all(lua_State *lua)
{
    size_t length, start;

    luaL_checklstring(lua, 1, &length);
    luaL_checkstring(lua, 2);
    start = start_of(luaL_optinteger(lua, 3, 1), length);
    lua_settop(lua, 2);
    lua_pushinteger(lua, (lua_Integer)(start > length ? length + 1 : start));
    lua_pushnil(lua);
    lua_pushcclosure(lua, next_match, 4);
    return 1;
}

/* ---- gsub ---- */

/* Adds the replacement text, with "%1" and "%%". */
static void add_text(lua_State *lua, luaL_Buffer *to, const struct pattern *p, const char *at,
                     const char *end)
{
    size_t length;
    const char *text = lua_tolstring(lua, 3, &length);

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (c != '%') {
            luaL_addchar(to, c);
            continue;
        }
        c = ++i < length ? text[i] : '\0';
        if (c == '%') {
            luaL_addchar(to, c);
        } else if (c == '0') {
            luaL_addlstring(to, at, (size_t)(end - at));
        } else if (c >= '1' && c <= '9') {
            push_capture(lua, p, (unsigned)(c - '1'), at, end);
            luaL_tolstring(lua, -1, NULL);
            lua_remove(lua, -2);
            luaL_addvalue(to);
        } else {
            luaL_error(lua, "invalid use of '%%' in replacement string");
        }
    }
}

/* Adds what the table or the function gives for the match: false and nil leave it as it is. */
static void add_found(lua_State *lua, luaL_Buffer *to, const struct pattern *p, const char *at,
                      const char *end)
{
    if (lua_istable(lua, 3)) {
        push_capture(lua, p, 0, at, end);
        lua_rawget(lua, 3);
    } else {
        lua_pushvalue(lua, 3);
        machine_call(lua, push_captures(lua, p, at, end), 1);
    }
    if (!lua_toboolean(lua, -1)) {
        lua_pop(lua, 1);
        luaL_addlstring(to, at, (size_t)(end - at));
    } else if (!lua_isstring(lua, -1)) {
        luaL_error(lua, "invalid replacement value (a %s)", luaL_typename(lua, -1));
    } else {
        luaL_addvalue(to);
    }
}

static int replace(lua_State *lua)
{
    struct pattern p = pattern_of(lua, 1, 2);
    lua_Integer most = luaL_optinteger(lua, 4, p.text_end - p.text + 1), n = 0;
    bool is_text = lua_isstring(lua, 3), is_anchored = skip_anchor(&p);
    const char *at = p.text, *last = NULL;
    luaL_Buffer result;

    luaL_argexpected(lua, is_text || lua_istable(lua, 3) || lua_isfunction(lua, 3), 3,
                     "string/function/table");
    luaL_buffinit(lua, &result);
    while (n < most) {
        const char *end = try_at(lua, &p, at);

        machine_charge(lua, 1);
        if (end && end != last) {
            n++;
            if (is_text)
                add_text(lua, &result, &p, at, end);
            else
                add_found(lua, &result, &p, at, end);
            at = last = end;
        } else if (at < p.text_end) {
            luaL_addchar(&result, *at++);
        } else {
            break;
        }
        if (is_anchored)
            break;
    }
    luaL_addlstring(&result, at, (size_t)(p.text_end - at));
    luaL_pushresult(&result);
    lua_pushinteger(lua, n);
    return 2;
}

/* ---- Others ---- */

/* Lua's own repeats an empty text 2^63 times. */
static int repeat(lua_State *lua)
{
    size_t length, of_separator;
    const char *text = luaL_checklstring(lua, 1, &length);
    lua_Integer n = luaL_checkinteger(lua, 2);
    const char *separator = luaL_optlstring(lua, 3, "", &of_separator);
    size_t each = length + of_separator;
    luaL_Buffer result;
    char *to;

    if (n <= 0 || each == 0) {
        lua_pushliteral(lua, "");
        return 1;
    }
    if (each > machine_of(lua)->most / (size_t)n)
        return luaL_error(lua, "resulting string too large");
    machine_charge(lua, (size_t)n);
    to = luaL_buffinitsize(lua, &result, each * (size_t)n);
    for (lua_Integer i = 0; i < n; i++) {
        memcpy(to, text, length);
        to += length;
        if (i + 1 < n)
            memcpy(to, separator, of_separator);
        to += i + 1 < n ? of_separator : 0;
    }
    luaL_pushresultsize(&result, each * (size_t)n - of_separator);
    return 1;
}

/* "%p" would show an address, and so would "%s" of a table: another one in each run. A format may
 * have NULs. */
static void refuse_address(lua_State *lua, const char *format, size_t length)
{
    const char *end = format + length;

    while ((format = memchr(format, '%', (size_t)(end - format)))) {
        format += 1 + strspn(format + 1, "-+ #0123456789.");
        if (*format == 'p')
            luaL_error(lua, "invalid conversion '%%p' to 'format'");
        format += format < end;
    }
}

/* Upvalue: Lua's own. */
static int format_text(lua_State *lua)
{
    lua_CFunction function = lua_tocfunction(lua, lua_upvalueindex(1));
    size_t bytes = 0, length;
    const char *format;

    format = luaL_checklstring(lua, 1, &length);
    refuse_address(lua, format, length);
    for (int i = 1; i <= lua_gettop(lua); i++) {
        if (lua_istable(lua, i) || lua_isfunction(lua, i)) {
            library_push_text(lua, i);
            lua_replace(lua, i);
        }
        if (lua_type(lua, i) == LUA_TSTRING) {
            lua_tolstring(lua, i, &length);
            bytes += length;
        }
    }
    machine_charge_bytes(lua, bytes);
    return function(lua);
}

/* luaopen_string() also makes them methods: ("x"):lower(). */
void library_open_strings(lua_State *lua)
{
    static const char *const kept[] = {"byte",    "char", "len",   "lower",
                                       "reverse", "sub",  "upper", NULL};
    static const luaL_Reg own[] = {{"find", find},   {"gmatch", match_all}, {"gsub", replace},
                                   {"match", match}, {"rep", repeat},       {NULL, NULL}};

    lua_pushcfunction(lua, luaopen_string);
    lua_call(lua, 0, 1);
    lua_getfield(lua, -1, "format");
    lua_pushcclosure(lua, format_text, 1);
    lua_insert(lua, -2);
    library_keep(lua, kept);
    luaL_setfuncs(lua, own, 0);
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "format");
    lua_setglobal(lua, "string");
}

#include "runtimes/lua/convert.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

static void push_number(lua_State *lua, const struct value *value)
{
    const char *text = value_number(value);
    int64_t whole = value_int(value, INT64_MIN);

    if (!strpbrk(text, ".eE") && whole != INT64_MIN)
        lua_pushinteger(lua, whole);
    else
        lua_pushnumber(lua, strtod(text, NULL));
}

static void push_text(lua_State *lua, const struct value *value)
{
    size_t length;
    const char *text = value_string_n(value, &length);

    lua_pushlstring(lua, text, length);
}

static void push_scalar(lua_State *lua, const struct value *value)
{
    enum value_type type = value_type(value);

    if (type == VALUE_BOOL)
        lua_pushboolean(lua, value_bool(value, false));
    else if (value_is_sensitive(value) && (type == VALUE_STRING || type == VALUE_NUMBER))
        lua_pushliteral(lua, CONVERT_SECRET);
    else if (type == VALUE_STRING)
        push_text(lua, value);
    else if (type == VALUE_NUMBER)
        push_number(lua, value);
    else
        lua_pushnil(lua);
}

static void push_array(lua_State *lua, const struct value *array)
{
    size_t n = value_count(array);

    lua_createtable(lua, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        convert_push(lua, value_at(array, i));
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
}

static void push_object(lua_State *lua, const struct value *object)
{
    size_t n = value_count(object);

    lua_createtable(lua, 0, (int)n);
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *key = value_member_key(object, i, &length);

        lua_pushlstring(lua, key, length);
        convert_push(lua, value_member(object, i));
        lua_rawset(lua, -3);
    }
}

/* As deep as documents are (LIMIT_DEPTH). */
void convert_push(lua_State *lua, const struct value *value)
{
    luaL_checkstack(lua, 4, "the object is too deep");
    if (value_is(value, VALUE_ARRAY))
        push_array(lua, value);
    else if (value_is(value, VALUE_OBJECT))
        push_object(lua, value);
    else
        push_scalar(lua, value);
}

/* JSON values as Lua's. */
#ifndef RUNTIMES_LUA_CONVERT_H
#define RUNTIMES_LUA_CONVERT_H

#include <lua.h>

#include "engine/value/value.h"

/* What a script sees instead of a secret text or number. */
#define CONVERT_SECRET "(sensitive)"

/* Pushes the value. An object is a table without the members that are null; an array is one from 1
 * on, with holes for null. A whole number that fits is an integer, any other one a float. Raises
 * Lua's error if there is no memory. */
void convert_push(lua_State *lua, const struct value *value);

#endif

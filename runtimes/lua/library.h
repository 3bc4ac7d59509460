/*
 * What a script may call: the part of Lua's own library that computes, with bounds.
 *
 * There is no io, os (but os.time of a table), load, require, debug, pcall, coroutine, metatables,
 * math.random and table.move. pairs() and next() go by sorted keys. find, match, gmatch and gsub
 * are those of strings.c, with a budget.
 */
#pragma once

#include <lua.h>

/* Of a machine. Raises Lua's error if there is no memory. */
void library_open(lua_State *lua);

/* The parts of it. Each leaves the stack as it was. */
void library_open_basics(lua_State *lua);
void library_open_strings(lua_State *lua);
void library_open_tables(lua_State *lua);

/* Replaces the functions of the table on top of the stack that `names` has, up to a NULL, by the
 * same ones that first charge for the bytes of their texts; removes all other functions. */
void library_keep(lua_State *lua, const char *const *names);

/* The text of a value as tostring() gives it, pushed. Tables and functions have no address. */
void library_push_text(lua_State *lua, int index);

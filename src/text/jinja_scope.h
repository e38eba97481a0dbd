// Which variable a name means. Jinja decides that before rendering (jinja2's idtracking.py): a name
// that a block stores belongs to the block even where it is read before the store, loops and macros
// see the variables around them, and what they set is gone when they end. This pass repeats those
// rules and leaves a place (hops, slot) in every name, so that rendering never searches.
#pragma once

#include "text/jinja_ast.h"

namespace mlxcel::text {

// Fills every VariableRef and ScopeInfo, and finds the filters and tests by name. Throws where the
// reference refuses to compile: unknown filters and tests outside of `if`, a loop that stores
// `loop`.
void resolve_scopes(Template& parsed);

}  // namespace mlxcel::text

/* A module map cannot search the include path for its header; this file can. */
#include <uchardet/uchardet.h>

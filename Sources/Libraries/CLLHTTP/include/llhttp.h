// llhttp, the parser of Node.js, as Debian's node-llhttp has it: its sources, and nothing that is compiled. They include
// "llhttp.h", which is this file.
#define LLHTTP_STRICT_MODE 1
#include "/usr/share/include/llhttp/llhttp.h"

/* Functions that a library imports, and others in their place. */
#ifndef SLUICE_IMPORTS_H
#define SLUICE_IMPORTS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a library that is loaded holds the address of a function that it calls in another one. */
typedef struct sluice_import {
  const void *inside; /* any address in the library */
  const char *name;   /* of the function, as in its table of imported functions */
  void **slot;        /* what `find` found */
  bool is_constant;   /* its page is read-only since the library was loaded */
} sluice_import;

/* Looks for it in the library's table (the relocations of DT_JMPREL: elf(5), the gABI's chapter on dynamic linking). False: it
 * does not import such a function, or calls it without that table. */
bool sluice_import_find(sluice_import *import);

/* From now on the library calls this function in its place, for as long as the process lives; no other library does. One thread
 * alone may be in the library. False: the system does not let the table be written. */
bool sluice_import_replace(const sluice_import *import, void *function);

#ifdef __cplusplus
}
#endif
#endif

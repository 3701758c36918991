/* Poppler's own tables, which poppler-glib does not expose. C++, because poppler's function is C++. */
#ifndef SLUICE_POPPLER_DATA_H
#define SLUICE_POPPLER_DATA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes poppler look for the poppler-data tables in no folder. If they are installed, poppler would open one
 * whenever a font names it, and the sandbox would treat that as an attack. Call it before any document opens;
 * later calls have no effect. */
void sluice_poppler_without_data(void);

#ifdef __cplusplus
}
#endif
#endif

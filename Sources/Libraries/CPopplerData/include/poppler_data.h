/* Poppler's own tables, which poppler-glib gives no say over. C++, since that is what the one function wants. */
#ifndef SLUICE_POPPLER_DATA_H
#define SLUICE_POPPLER_DATA_H

#ifdef __cplusplus
extern "C" {
#endif

/* Has poppler look for the tables of poppler-data in no folder. Where they are installed it would open one whenever a font
 * names it, which the sandbox takes for an attack. Call it before any document opens; after that it does nothing. */
void sluice_poppler_without_data(void);

#ifdef __cplusplus
}
#endif
#endif

/* PDFs as poppler's own library reads them. C++ inside, because poppler's library is C++: poppler-glib gives neither the objects
 * of a document nor the text that pdftotext prints.
 *
 * Not for several threads at once. */
#ifndef SLUICE_PDF_H
#define SLUICE_PDF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open document. */
typedef struct sluice_pdf sluice_pdf;

typedef enum sluice_pdf_error {
  SLUICE_PDF_OPENS,
  SLUICE_PDF_NEEDS_PASSWORD,
  SLUICE_PDF_BAD_CATALOG,
  SLUICE_PDF_DAMAGED,
  SLUICE_PDF_INVALID,
} sluice_pdf_error;

/* Prepares poppler's global tables, for as long as the process lives. Call it before the sandbox closes, in each plugin; later
 * calls have no effect.
 *
 * Text in fonts that name a character collection of Chinese, Japanese or Korean is read with the tables of poppler-data, if they
 * are installed. They are mapped into memory, and poppler finds files there and nowhere else: the sandbox ends a process that
 * opens one. False: this poppler opens files in another way. */
bool sluice_pdf_start(void);

/* The size of the tables, 0 if they are not installed. */
size_t sluice_pdf_tables(void);

/* Such as "22.12.0". */
const char *sluice_pdf_poppler_version(void);

/* The bytes must outlive the document. NULL: `error` says why. Free it with sluice_pdf_close. */
sluice_pdf *sluice_pdf_open(const void *bytes, size_t size, sluice_pdf_error *error);
void sluice_pdf_close(sluice_pdf *pdf);

/* The number of leaves of the page tree, whatever its Count says; what the document claims if there are none. Corrects Count, so
 * that all leaves can be loaded. */
int32_t sluice_pdf_pages(sluice_pdf *pdf);

/* Whether the page can be loaded; `page` begins at 0, here and below. */
bool sluice_pdf_loads(sluice_pdf *pdf, int32_t page);

/* In points, cropped, turned and scaled as it is shown. False: the page does not load. */
bool sluice_pdf_size(sluice_pdf *pdf, int32_t page, double *width, double *height);

/* The text of a page and its annotations as pdftotext prints it, in UTF-8, in pieces. Right-to-left text is in the order it is
 * read in, between U+202A or U+202B and U+202C. False: the page does not load. */
bool sluice_pdf_text(sluice_pdf *pdf, int32_t page, void (*piece)(void *context, const char *text, int size), void *context);

void sluice_pdf_version(sluice_pdf *pdf, int *major, int *minor);
bool sluice_pdf_is_encrypted(sluice_pdf *pdf);
bool sluice_pdf_is_linearized(sluice_pdf *pdf);

typedef enum sluice_pdf_form { SLUICE_PDF_NO_FORM, SLUICE_PDF_ACROFORM, SLUICE_PDF_XFA } sluice_pdf_form;
sluice_pdf_form sluice_pdf_form_kind(sluice_pdf *pdf);

/* A string of the information dictionary, decrypted and not decoded; NULL: there is none. Valid until the next call. */
const char *sluice_pdf_info(sluice_pdf *pdf, const char *key, size_t *size);

/* The document's metadata stream, decoded, if it has at most `limit` bytes; NULL: there is none. Valid until the next call. */
const char *sluice_pdf_metadata(sluice_pdf *pdf, size_t limit, size_t *size);

/* Which Unicode character a byte stands for in PDFDocEncoding (ISO 32000-2, D.2); U+FFFD: none. */
uint32_t sluice_pdf_character(uint8_t byte);

typedef struct sluice_pdf_findings {
  /* JavaScript that an event, a link or an annotation can run. XFA is not looked into. */
  bool has_script;
  /* Embedded files that readers list: in the name tree, associated with the document, a page or an annotation, or attached by
   * an annotation. A file that is listed twice counts once. */
  int32_t attachments;
} sluice_pdf_findings;

/* Visits whatever in the document can hold an action. Each object is visited once. */
sluice_pdf_findings sluice_pdf_inspect(sluice_pdf *pdf);

#ifdef __cplusplus
}
#endif
#endif

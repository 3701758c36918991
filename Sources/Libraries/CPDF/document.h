#ifndef SLUICE_PDF_DOCUMENT_H
#define SLUICE_PDF_DOCUMENT_H

#include "include/pdf.h"

#include <PDFDoc.h>
#include <memory>
#include <string>

struct sluice_pdf {
  const char *bytes;
  Goffset size;
  /* Poppler has made up a table of objects of its own, which it does once at most after a document is open. */
  bool is_repaired = false;
  std::unique_ptr<PDFDoc> document;
  /* What was handed out last. */
  std::string text;
  /* Whether the tree of pages has leaves. */
  bool has_tree = true;
  /* -1: not counted yet. */
  int32_t pages = -1;
};

/* Has poppler read the document anew. */
void sluice_pdf_read(sluice_pdf *pdf);

#endif

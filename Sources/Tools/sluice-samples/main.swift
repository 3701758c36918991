// sluice-samples DIR: writes one small attachment of every kind that a pipeline has to distinguish. The bytes
// are the same every time, so that tests can compare hashes.

import Glibc

let samples = [
  Sample("report.pdf", "three pages of text, every field of the Info dictionary") { reportPDF() },
  Sample("form.pdf", "a text field, an embedded file and a document-level script") { formPDF() },
  Sample("owner.pdf", "opens, but only the owner may print, copy or change it") { try ownerPDF() },
  Sample("secret.pdf", "does not open without the user password \"secret\"") { try secretPDF() },
  Sample("damaged.pdf", "the first half of report.pdf; does not open") { damagedPDF() },
  Sample("empty-tree.pdf", "opens, but has no pages") { emptyTreePDF() },
  Sample("too-large.pdf", "valid, one page with an 11 MiB scan") { tooLargePDF() },
  Sample("invoice.pdf", "a shell script that calls itself a PDF") { shellScript() },
  Sample("photo.png", "an RGB gradient") { photoPNG() },
  Sample("photo.jpg", "a gray mosaic, baseline JPEG") { photoJPEG() },
  Sample("animation.gif", "eight frames that repeat for ever") { animationGIF() },
  Sample("empty.txt", "no bytes at all") { [] },
  Sample("polyglot.gif", "a GIF to one reader, a PDF to another") { polyglotGIF() },
]

switch Array(CommandLine.arguments.dropFirst()) {
case ["-h"], ["--help"]:
  print(usage)
case let arguments where arguments.count == 1 && !arguments[0].isEmpty && !arguments[0].hasPrefix("-"):
  exitOnError {
    let folder = try SampleFolder(creating: arguments[0])
    for sample in samples {
      print(try folder.write(sample))
    }
  }
default:
  complain(usage)
  exit(2)
}

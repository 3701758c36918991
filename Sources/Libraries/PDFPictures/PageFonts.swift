import CFontconfig
import CPoppler
import CPopplerFiles
import Glibc
import PDFDocument
import StageKit

/// The fonts for text whose font a document does not embed, in memory: those of PostScript, drawn anew by URW.
///
/// Fontconfig is told of no others, so that what a page looks like does not depend on what else is installed. Without
/// them such text is missing in pictures.
package enum PageFonts {
  /// Runs once, however often a stage is opened. Call it before the sandbox closes, while a ``Poppler`` is open.
  package static func start() throws(Outcome) { if let failure { throw failure } }

  /// What they are, for a basis: equal for equal fonts.
  package static var fingerprint: String {
    "\(files.count) fonts of \(files.reduce(0) { $0 + $1.size }) bytes"
  }

  package static var cairoVersion: String { String(cString: cairo_version_string()) }

  private static let names = [
    "NimbusSans-Regular", "NimbusSans-Bold", "NimbusSans-Italic", "NimbusSans-BoldItalic",
    "NimbusRoman-Regular",
    "NimbusRoman-Bold", "NimbusRoman-Italic", "NimbusRoman-BoldItalic", "NimbusMonoPS-Regular",
    "NimbusMonoPS-Bold",
    "NimbusMonoPS-Italic", "NimbusMonoPS-BoldItalic", "StandardSymbolsPS", "D050000L",
  ]

  /// Where Debian's `fonts-urw-base35` puts them. Of its formats this one is used, in which glyphs are found by their names; with
  /// the others poppler finds them by tables that some fonts of symbols lack.
  private static let folder = "/usr/share/fonts/X11/Type1"

  /// Which of them stands for a font: by a part of its name, then as a monospaced one, then the first.
  private static let rules = [
    ("Courier", "Nimbus Mono PS"), ("Mono", "Nimbus Mono PS"), ("Consolas", "Nimbus Mono PS"),
    ("Times", "Nimbus Roman"),
    ("Roman", "Nimbus Roman"), ("Georgia", "Nimbus Roman"), ("Garamond", "Nimbus Roman"),
    ("Cambria", "Nimbus Roman"),
    ("Palatino", "Nimbus Roman"), ("Bookman", "Nimbus Roman"), ("Century", "Nimbus Roman"),
    ("Symbol", "Standard Symbols PS"), ("Dingbats", "D050000L"), ("Wingdings", "D050000L"),
  ]

  /// Never freed.
  nonisolated(unsafe) private static let files: [sluice_poppler_file] = names.compactMap {
    read("\(folder)/\($0).pfb")
  }

  private static let failure: Outcome? = {
    do throws(Outcome) {
      try prepare()
      return nil
    } catch {
      return error
    }
  }()

  private static func prepare() throws(Outcome) {
    // poppler-glib passes poppler's errors on to GLib's log.
    g_log_set_default_handler({ _, _, _, _ in }, nil)
    let list = UnsafeMutableBufferPointer<sluice_poppler_file>.allocate(capacity: files.count)
    _ = list.initialize(from: files)
    // Before fontconfig: where poppler would open files, it must not find any.
    guard sluice_poppler_files(list.baseAddress, list.count) != 0 else {
      throw unavailable("does not open files as it did when this was built")
    }
    guard let config = FcConfigCreate(), FcConfigParseAndLoadFromMemory(config, configuration, 1) != 0 else {
      throw unavailable("gets no fonts: fontconfig does not take its configuration")
    }
    for file in files {
      _ = file.path.withMemoryRebound(to: FcChar8.self, capacity: strlen(file.path)) {
        FcConfigAppFontAddFile(config, $0)
      }
    }
    guard FcConfigSetRescanInterval(config, 0) != 0, FcConfigSetCurrent(config) != 0 else {
      throw unavailable("gets no fonts: fontconfig does not take its configuration")
    }
    try rehearse()
  }

  /// Draws a page in each way that has poppler, cairo, FreeType or fontconfig read or allocate something the first time.
  private static func rehearse() throws(Outcome) {
    let isDrawn: Bool
    do {
      let document = try DrawnDocument(SamplePage.bytes)
      guard let page = document.page(0) else { throw Page.Blank.sizeless }
      isDrawn = try page.draw(fitting: 40) { pixels, stride, width, height in
        // Of a row of `M` that is nearly as high as the page something must be dark.
        (0..<height).contains { line in (0..<width).contains { pixels[line * stride + $0 * 4] < 128 } }
      }
    } catch {
      throw unavailable("does not draw a page that is valid")
    }
    if !isDrawn, !files.isEmpty { throw unavailable("does not draw text") }
  }

  private static func unavailable(_ fault: String) -> Outcome {
    .fail("poppler-unavailable", "poppler \(Poppler.version) \(fault)")
  }

  private static var configuration: String {
    func edit(_ test: String, _ family: String) -> String {
      """
      <match>\(test)<edit name="family" mode="assign" binding="strong"><string>\(family)</string></edit></match>
      """
    }
    let named = rules.map { part, family in
      edit("<test name=\"family\" compare=\"contains\"><string>\(part)</string></test>", family)
    }
    let monospaced = edit(
      "<test name=\"spacing\" compare=\"more_eq\"><const>mono</const></test>", "Nimbus Mono PS")
    let last = """
      <match><edit name="family" mode="append_last"><string>Nimbus Sans</string></edit></match>
      """
    return "<fontconfig>\(monospaced)\(named.joined())\(last)</fontconfig>"
  }

  /// `nil`: it is not there.
  private static func read(_ path: String) -> sluice_poppler_file? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    guard fseek(file, 0, SEEK_END) == 0 else { return nil }
    let size = ftell(file)
    guard size > 0, let bytes = malloc(size), let name = strdup(path) else { return nil }
    rewind(file)
    guard fread(bytes, 1, size, file) == size else { return nil }
    return sluice_poppler_file(path: name, bytes: bytes, size: size)
  }
}

import Platform

/// The reference program in C: see raw.c.
enum Raw {
  private static let program = Ground.path + "/raw"

  static func build() throws {
    let compiler = Settings.environment["CC"] ?? "clang"
    let script = """
      \(compiler) -std=c11 -O2 -Wall -Wextra "$1" -o "$2" $(pkg-config --cflags --libs poppler-glib gio-2.0 libcrypto) -lmagic
      """
    try Child(
      ["/bin/sh", "-c", script, "sh", Settings.benchmarks + "/raw.c", program], out: Ground.output("clang")
    ).end(as: 0)
  }

  /// - Parameter pdfs: how many of the files are PDFs.
  static func run(store: String, _ input: Input, pdfs: Int) throws -> Ending {
    let child = try Child([program, "--store", store, "--list", input.list], out: Ground.output("raw"))
    let ending = try child.end(as: 0)
    let summary = try Files.text(child.out)
    for (key, value) in [("files", input.count), ("failed", 0), ("pdfs", pdfs)]
    where !summary.contains("\"\(key)\":\(value),") {
      throw BenchError("raw reports other work than \(key) \(value): \(summary)")
    }
    return ending
  }
}

import Glibc
import Pipeline
import Platform
import Workbench

/// A folder into which `stages run --save` writes what a stage has made.
struct SavedPieces {
  private let folder: String
  private var count = 0

  init(_ folder: String) throws(CommandError) {
    self.folder = folder
    if mkdir(folder, 0o777) != 0 {
      throw CommandError(
        .configuration, "making the folder \(Terminal.printable(folder)): \(String(cString: strerror(errno)))"
      )
    }
  }

  /// Each file is numbered, since names repeat and those of children are a sender's.
  mutating func add(_ result: TrialResult) throws {
    if let produced = result.produced { try save(produced.content, as: "content") }
    for entry in result.pieces.derived {
      try save(
        entry.content, as: "\(entry.piece.name).\(PathTemplate.fileExtension(for: entry.piece.mediaType))")
    }
    for entry in result.pieces.children {
      try save(entry.content, as: PathTemplate.escaped(entry.piece.name))
    }
  }

  private mutating func save(_ content: Content, as name: String) throws {
    count += 1
    let path = "\(folder)/\(count)-\(name)"
    do throws(SystemError) {
      try content.write(to: path)
    } catch {
      throw CommandError(.configuration, "writing \(Terminal.printable(path)): \(error)")
    }
    Terminal.error("wrote \(Terminal.printable(path))")
  }
}

import Glibc
import Pipeline
import Wire

/// What the stages of one piece of work leave beside its content, in the coordinator's file, as a worker writes it.
final class ScriptedPieces {
  private let number: Int32
  private var pieces: [Piece] = []
  private var list: Range<Int64>?

  init(_ descriptor: Int32) {
    number = dup(descriptor)
  }

  deinit {
    close(number)
  }

  private func append(_ bytes: [UInt8]) -> Range<Int64> {
    let start = Int64(lseek(number, 0, SEEK_END))
    _ = bytes.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
    return start..<(start + Int64(bytes.count))
  }

  func add(_ parts: [Scenario.Part], stage: Int) {
    for part in parts {
      pieces.removeAll { part.kind == .derived && $0.kind == .derived && $0.name == part.name }
      let range = append(Array(part.content.utf8))
      pieces.append(Piece(part.kind, name: part.name, mediaType: "text/plain", range: range, stage: stage))
      list = nil
    }
  }

  /// Appends the list of all where it has changed. Returns where it lies; `nil`: there are none.
  func appendList() -> Range<Int64>? {
    if pieces.isEmpty { return nil }
    let place = list ?? append(PieceList.bytes(of: pieces))
    list = place
    return place
  }
}

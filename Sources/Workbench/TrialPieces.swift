import CPlatform
import Glibc
import Pipeline
import Platform
import Wire

/// What a stage has left beside its content in a trial.
public struct TrialPieces {
  public struct Entry {
    public var piece: Piece
    public var content: Content
    public var sha256: String
  }

  public var derived: [Entry] = []
  public var children: [Entry] = []
  /// Whether these are all; else there were more than a trial keeps.
  public var isWhole = true

  public init() {}

  /// Derived objects and children that a trial keeps and measures, at most.
  static let kept = 10_000
}

extension Bench {
  /// A file in memory for pieces.
  static func pieceFile() throws(Content.Problem) -> Descriptor {
    let memory = try Content.memory()
    _ = fcntl(memory.number, F_SETFL, O_APPEND)
    return memory
  }

  /// Takes the pieces of a report out of their file.
  ///
  /// - Throws: ``FrameError`` if the list of them cannot be one.
  func pieces(of report: StageReport, in file: borrowing Descriptor) throws -> TrialPieces {
    var pieces = TrialPieces()
    guard let place = report.pieceList else { return pieces }
    let list = try PieceList.read(file.number, at: place)
    pieces.isWhole = list.count <= TrialPieces.kept
    for piece in list.prefix(TrialPieces.kept) {
      let content = try Content(bytes: PieceList.bytes(of: file.number, at: piece.range))
      let entry = TrialPieces.Entry(piece: piece, content: content, sha256: try measure(content))
      if piece.kind == .derived { pieces.derived.append(entry) } else { pieces.children.append(entry) }
    }
    return pieces
  }
}

import CStage
import Glibc
import Pipeline
import Wire

/// What the stages of one piece of work write beside its content, in a file that the coordinator made. It only appends.
struct Pieces {
  private let file: Int32
  private let room: ChildRoom
  private var pieces: [Piece] = []
  /// The last piece may be written to yet.
  private var isOpen = false
  private var derived = 0
  /// A child was not taken.
  private(set) var isOverfull = false
  private(set) var children = ChildRoom(contents: 0, bytes: 0)
  /// Where the last list lies, and how many pieces it has.
  private var list: (place: Range<Int64>, count: Int)?

  /// - Parameters:
  ///   - file: -1: there is none, and nothing is taken.
  ///   - room: what of children is allowed.
  init(_ file: Int32, room: ChildRoom) {
    self.file = file
    self.room = room
  }

  /// What is written is wanted.
  var isKept: Bool { file >= 0 }

  /// Why an attachment is rejected that has more children than are allowed, whatever its stage says; `nil`: it has not.
  var overflow: (code: String, message: String)? {
    if !isOverfull || file < 0 { return nil }
    if room.contents < 0 { return ("too-deep", "it holds contents deeper than 'depth' of 'expand' allows") }
    return (
      "too-many-contents",
      "it holds more than the \(min(room.contents, Int64(Piece.mostChildren))) contents that 'expand' allows it"
    )
  }

  /// What of children is allowed yet.
  var roomLeft: ChildRoom {
    if file < 0 { return ChildRoom(contents: 0, bytes: 0) }
    return ChildRoom(
      contents: max(min(room.contents, Int64(Piece.mostChildren)) - children.contents, 0),
      bytes: max(room.bytes - children.bytes, 0))
  }

  /// Begins a piece, and ends the one before. Returns the file to write to; -1: no more are taken.
  mutating func begin(_ kind: Piece.Kind, name: String, mediaType: String?, stage: Int) -> Int32 {
    finish()
    if file < 0 { return -1 }
    switch kind {
    case .derived:
      if let earlier = pieces.firstIndex(where: { $0.kind == .derived && $0.name == name }) {
        pieces.remove(at: earlier)
        list = nil
      } else {
        guard derived < Piece.mostDerived else { return -1 }
        derived += 1
      }
    case .child:
      guard roomLeft.contents > 0 else {
        isOverfull = true
        return -1
      }
      children.contents += 1
    }
    let start = size
    pieces.append(Piece(kind, name: name, mediaType: mediaType, range: start..<start, stage: stage))
    isOpen = true
    return file
  }

  /// Ends the last piece.
  mutating func finish() {
    guard isOpen, let last = pieces.indices.last else { return }
    isOpen = false
    let start = pieces[last].range.lowerBound
    pieces[last].range = start..<max(size, start)
    if pieces[last].kind == .child { children.bytes += pieces[last].range.upperBound - start }
  }

  /// Ends the last piece, and appends the list of all where it has changed. Returns where it lies; `nil`: there are no pieces.
  mutating func appendList() -> Range<Int64>? {
    finish()
    if pieces.isEmpty { return nil }
    if let list, list.count == pieces.count { return list.place }
    let bytes = PieceList.bytes(of: pieces)
    let start = size
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
      if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return nil }
    }
    let place = start..<(start + Int64(bytes.count))
    list = (place, pieces.count)
    return place
  }

  private var size: Int64 {
    var facts = stat()
    return fstat(file, &facts) == 0 ? Int64(facts.st_size) : 0
  }
}

/// The tables of the extensions for it, made once and never changed.
enum PieceTables {
  nonisolated(unsafe) static let derivation: UnsafePointer<sluice_derivation> = {
    let table = UnsafeMutablePointer<sluice_derivation>.allocate(capacity: 1)
    table.initialize(
      to: sluice_derivation(
        size: UInt32(MemoryLayout<sluice_derivation>.size), reserved: 0, begin: beginDerived))
    return UnsafePointer(table)
  }()

  nonisolated(unsafe) static let expansion: UnsafePointer<sluice_expansion> = {
    let table = UnsafeMutablePointer<sluice_expansion>.allocate(capacity: 1)
    table.initialize(
      to: sluice_expansion(
        size: UInt32(MemoryLayout<sluice_expansion>.size), reserved: 0, begin: beginChild, room: tellRoom))
    return UnsafePointer(table)
  }()
}

private func beginDerived(
  _ call: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ mediaType: UnsafePointer<CChar>?
) -> Int32 {
  guard let call = Call.from(call), let name, let mediaType else { return -1 }
  return call.derive(String(cString: name), String(cString: mediaType))
}

private func beginChild(
  _ call: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ mediaType: UnsafePointer<CChar>?
) -> Int32 {
  guard let call = Call.from(call) else { return -1 }
  return call.addChild(name.map { String(cString: $0) } ?? "", mediaType.map { String(cString: $0) })
}

private func tellRoom(
  _ call: OpaquePointer?, _ contents: UnsafeMutablePointer<UInt64>?, _ bytes: UnsafeMutablePointer<UInt64>?
) {
  let room = Call.from(call)?.pieces.roomLeft
  contents?.pointee = UInt64(room?.contents ?? 0)
  bytes?.pointee = UInt64(room?.bytes ?? 0)
}

extension Call {
  fileprivate func derive(_ name: String, _ mediaType: String) -> Int32 {
    guard stage.raw.pointee.flags & SLUICE_DERIVES != 0 else {
      complain(loudly: "derives an object, which its description does not declare: SLUICE_DERIVES")
      return -1
    }
    guard Piece.isName(name) else {
      complain(loudly: "derives an object named '\(Self.cut(name, to: 100))': \(Piece.nameRule); dropped")
      return -1
    }
    guard mediaType.utf8.count <= 255, MediaTypePattern.isMediaType(mediaType) else {
      complain(loudly: "derives '\(name)' with a media type that is none; dropped")
      return -1
    }
    let file = pieces.begin(.derived, name: name, mediaType: mediaType, stage: stageIndex)
    if file < 0 && pieces.isKept {
      log(
        .warning,
        "derives '\(name)' beyond the \(Piece.mostDerived) objects that an attachment may have; dropped")
    }
    trace("derive", "\(name), \(mediaType)\(file < 0 ? " -> not taken" : "")")
    return file
  }

  fileprivate func addChild(_ name: String, _ mediaType: String?) -> Int32 {
    guard stage.raw.pointee.flags & SLUICE_EXPANDS != 0 else {
      complain(
        loudly: "takes a content out of the content, which its description does not declare: SLUICE_EXPANDS")
      return -1
    }
    let file = pieces.begin(
      .child, name: Piece.childName(name),
      mediaType: mediaType.map { Self.cut($0, to: 255) }, stage: stageIndex)
    trace("expand", "'\(Self.cut(name, to: 100))'\(file < 0 ? " -> not taken" : "")")
    return file
  }
}

import CGMime
import StageKit

/// What of a mail is allowed.
struct Limits {
  let parts: Int
  let depth: Int
  let bytes: Int

  /// Rejects a mail with too many parts before it is parsed: a part takes a kilobyte of memory, and a few bytes of a mail are
  /// enough to begin one.
  ///
  /// Counts equal lines that begin with two hyphens. One that a text repeats, such as a ruler, counts only if it is named as a
  /// boundary somewhere. What gets past this is held up by the limit of memory.
  func checkBoundaries(in bytes: UnsafeRawBufferPointer) throws(Outcome) {
    var counts: [[UInt8]: Int] = [:]
    for line in Lines(bytes) where 3...100 ~= line.count && line.starts(with: [0x2D, 0x2D]) {
      let boundary = Array(Boundary.trimmed(line.dropFirst(2)))
      if counts.count < Self.mostBoundaries || counts[boundary] != nil { counts[boundary, default: 0] += 1 }
    }
    for (boundary, count) in counts where count > parts && Self.names(boundary, bytes) { throw tooManyParts }
  }

  /// Different lines that are counted.
  private static let mostBoundaries = 10_000

  private static func names(_ boundary: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
    ["=", "=\""].contains { start in
      let wanted = Array(start.utf8) + boundary
      return sluice_contains(bytes.baseAddress, bytes.count, wanted, wanted.count) != 0
    }
  }

  var tooManyParts: Outcome {
    .reject("too-many-parts", "it has more than the \(parts) parts that `max-parts` allows")
  }

  var tooDeep: Outcome {
    .reject("too-deep", "its parts are nested deeper than the \(depth) levels that `max-depth` allows")
  }

  func checkBytes(_ count: Int) throws(Outcome) {
    if count > bytes {
      throw .reject("too-large", "its contents have more than the \(bytes) bytes that `max-bytes` allows")
    }
  }

  func checkBytes(_ count: Int, room: UInt64) throws(Outcome) {
    if UInt64(count) > room {
      throw .reject(
        "too-large", "its contents have more than the \(room) bytes that the pipeline takes out of it")
    }
  }
}

import FrontWire
import HTTPServer
import Wire

@testable import FrontDoor

extension FuzzTarget {
  /// What clients send to the HTTP server. The first byte says in how large pieces it comes.
  static let requests = FuzzTarget(name: "requests") { bytes in
    guard let size = bytes.first else { return }
    let rest = Array(bytes.dropFirst())
    let whole = read(rest, inPiecesOf: max(rest.count, 1))
    let split = read(rest, inPiecesOf: Int(size) + 1)
    try demand(whole == split, "in pieces of \(Int(size) + 1) it is \(split), and at once \(whole)")
    for head in whole.heads {
      try demand(head.raw.count <= RequestLimits().head + 2, "a head of \(head.raw.count) bytes")
      try demand(
        !head.pairs { $0.isEmpty || $1.utf8.contains { $0 < 0x20 && $0 != 9 || $0 == 0x7F } }.contains(true),
        "a field without a name, or with a control")
      try demand(head.minorVersion == 0 || !head.host.isEmpty, "a request to no host")
      try demand(
        head.values("content-length").isEmpty || head.values("transfer-encoding").isEmpty,
        "a body with two ends")
      if let target = try? RequestTarget(head.target) { try demandIsTaken(head, target) }
    }
  }

  /// The coordinator ends a process that tells what it may not: no client may bring it to that.
  private static func demandIsTaken(_ head: RequestHead, _ target: RequestTarget) throws {
    let request = FrontRequest(
      serial: 1, method: head.method, segments: target.segments,
      query: target.query.map { FrontRequest.Pair($0.name, $0.value) },
      fields: head.pairs(FrontRequest.Pair.init))
    let frame = FromFront.request(request).frame
    let isTaken = frame.count > Frame.limit || (try? frame.withUnsafeBytes { try FromFront($0) }) != nil
    try demand(isTaken, "the coordinator does not take a request of \(target.segments.count) segments")
  }

  /// What was understood of some bytes.
  private struct Understood: Equatable {
    var heads: [RequestHead] = []
    var body: [UInt8] = []
    var fault: Int?
  }

  private static func read(_ bytes: [UInt8], inPiecesOf size: Int) -> Understood {
    let parser = RequestParser()
    var found = Understood()
    var isBody = false
    for start in stride(from: 0, to: bytes.count, by: size) {
      var rest = Array(bytes[start..<min(start + size, bytes.count)])
      while !rest.isEmpty {
        do {
          let taken: Int
          if isBody {
            let (count, isWhole) = try rest.withUnsafeBytes { bytes in
              try parser.takeBody(bytes) { found.body += $0 }
            }
            (taken, isBody) = (count, !isWhole)
          } else {
            let (count, head) = try rest.withUnsafeBytes { bytes in
              try parser.takeHead(bytes)
            }
            taken = count
            if let head {
              found.heads.append(head)
              isBody = head.framing != .none
            }
          }
          rest.removeFirst(taken)
        } catch {
          found.fault = (error as? RequestFault)?.status
          return found
        }
      }
    }
    return found
  }

  /// The path and the query of a request.
  static let targets = FuzzTarget(name: "request-targets") { bytes in
    guard let target = try? RequestTarget(text(bytes)) else { return }
    for segment in target.segments {
      try demand(
        !segment.isEmpty && segment != "." && segment != ".." && !segment.utf8.contains(0)
          && !segment.utf8.contains(UInt8(ascii: "/")), "a segment is '\(segment)'")
    }
  }

  /// The headers of uploads and of parts of contents: a name, a colon and the value in each line.
  static let clientFields = FuzzTarget(name: "client-fields") { bytes in
    let fields = text(bytes).split(separator: "\n").compactMap { line -> FrontRequest.Pair? in
      let parts = line.split(separator: ":", maxSplits: 1)
      return parts.count == 2 ? FrontRequest.Pair(parts[0].lowercased(), String(parts[1])) : nil
    }
    let request = FrontRequest(serial: 1, method: "GET", segments: [], fields: fields)
    if let number = try? Tus.number(request, "upload-length") {
      try demand(number >= 0, "a length of \(number)")
    }
    if let checksum = try? Tus.checksum(request) {
      try demand(checksum.digest.count == checksum.algorithm.length, "a digest of another length")
    }
    if let header = request.field("upload-metadata"), let values = try? Tus.metadata(header) {
      try demand(try Tus.metadata(Tus.header(values)) == values, "metadata is not what was written of it")
    }
    if case .final(let ids)? = try? Tus.concat(request.field("upload-concat")) {
      try demand(!ids.isEmpty && ids.allSatisfy(Tus.isId), "an upload is made of \(ids)")
    }
    let size: Int64 = 1000
    let outcome = Conditions.outcome(
      request, Conditions.Validators(tag: "\"a\"", modified: 1_700_000_000, size: size))
    if case .part(let range) = outcome {
      try demand(0 <= range.lowerBound && range.upperBound <= size && !range.isEmpty, "a part \(range)")
    }
  }

  /// Frames between the coordinator and the process that serves HTTP, in both directions.
  static let frontFrames = FuzzTarget(name: "front-frames") { bytes in
    try bytes.withUnsafeBytes { buffer in
      if let message = try? ToFront(buffer) {
        try demand(
          try message.frame.withUnsafeBytes { try ToFront($0) } == message,
          "what it is told is not, written again")
      }
      if let message = try? FromFront(buffer) {
        try demand(
          try message.frame.withUnsafeBytes { try FromFront($0) } == message,
          "what it tells is not, written again")
      }
    }
  }
}

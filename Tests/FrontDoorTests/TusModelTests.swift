import Foundation
import FrontWire
import LedgerPort
import Pipeline
import Platform
import Testing

@testable import FrontDoor

/// Uploads against a model: random clients that break off, lie about checksums, come back, and ask for what is another's; and a
/// server that is killed in the middle of a body.
struct TusModelTests {
  private static let isSoak = ProcessInfo.processInfo.environment["SLUICE_SOAK"] != nil
  private static let steps = isSoak ? 5000 : 500
  private static let longest = 100

  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func uploadsDoAsTheModel(seed: UInt64) throws {
    var rules = ServeRules()
    (rules.maxSize, rules.uploads) = (Int64(Self.longest), 12)
    let desk = try UploadDesk(rules: rules)
    try desk.addToken("a", "ann")
    try desk.addToken("b", "ben")
    var player = Player(desk: desk, random: SeededNumbers(seed))
    for step in 0..<Self.steps {
      do {
        try player.play()
        try player.check()
      } catch {
        Issue.record("step \(step) of seed \(seed): \(error)")
        return
      }
    }
    #expect(player.finished > Self.steps / 100, "few uploads became attachments: \(player.finished)")
  }

  private struct Difference: Error, CustomStringConvertible {
    var description: String
  }

  private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
  }

  /// What an upload should be.
  private struct Expected {
    var owner: String
    var length: Int?
    var bytes: [UInt8] = []
    var isPartial = false
    var isFinal = false
    var isAttached = false

    var isOpen: Bool { !isAttached }
  }

  private struct Player {
    let desk: UploadDesk
    var random: SeededNumbers
    var uploads: [String: Expected] = [:]
    var contents: [[UInt8]] = []
    var finished: Int { contents.count }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func bytes(_ count: Int) -> [UInt8] {
      (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    mutating func play() throws {
      let id = chance(5) ? nil : uploads.keys.sorted().randomElement(using: &random)
      switch Int.random(in: 0..<10, using: &random) {
      case 0...1: try create()
      case 2: try look(id)
      case 3 where chance(40): try end(id)
      case 4 where chance(40): try join()
      case 5 where chance(20): try sweep()
      default: try append(to: id)
      }
    }

    private mutating func who() -> (token: String, name: String) {
      chance(50) ? ("a", "ann") : ("b", "ben")
    }

    private func expect(_ reply: FrontReply?, _ status: Int, _ what: String) throws {
      if reply?.status == status { return }
      throw Difference(
        description: "\(what): \(reply.map { "\($0.status) \($0.text)" } ?? "no answer") instead of \(status)"
      )
    }

    private mutating func create() throws {
      let (token, name) = who()
      let length = chance(70) ? Int.random(in: 0...TusModelTests.longest + 5, using: &random) : nil
      var fields = length.map { ["upload-length": "\($0)"] } ?? ["upload-defer-length": "1"]
      let isPartial = length != nil && chance(30)
      if isPartial { fields["upload-concat"] = "partial" }
      fields["upload-metadata"] = "filename \(Data("a.txt".utf8).base64EncodedString())"
      var body: [UInt8]?
      if chance(30) {
        body = bytes(Int.random(in: 1...60, using: &random))
        fields["content-type"] = "application/offset+octet-stream"
      }
      let reply = try desk.ask("POST", "/v1/uploads", token, fields, body)
      let most = length ?? TusModelTests.longest
      if most > TusModelTests.longest || body?.count ?? 0 > most { return try expect(reply, 413, "create") }
      if uploads.values.count(where: { $0.owner == name && $0.isOpen }) >= 12 {
        return try expect(reply, 429, "one too many")
      }
      try expect(reply, 201, "create")
      guard let place = reply?.field("Location"), let id = place.split(separator: "/").last.map(String.init)
      else { throw Difference(description: "no place") }
      uploads[id] = Expected(owner: name, length: length, bytes: body ?? [], isPartial: isPartial)
      try settle(id, reply)
    }

    /// An upload that is whole becomes an attachment.
    private mutating func settle(_ id: String, _ reply: FrontReply?) throws {
      guard let upload = uploads[id] else { return }
      let isWhole = upload.length == upload.bytes.count && !upload.isPartial
      if isWhole && !upload.isAttached {
        uploads[id]?.isAttached = true
        contents.append(upload.bytes)
      }
      if let reply, (reply.field("Attachment-Id") != nil) != (uploads[id]?.isAttached ?? false) {
        throw Difference(
          description: "\(id) is told as the attachment \(reply.field("Attachment-Id") ?? "none")")
      }
    }

    private mutating func look(_ id: String?) throws {
      let (token, name) = who()
      let reply = try desk.ask("HEAD", "/v1/uploads/\(id ?? String(repeating: "0", count: 32))", token)
      guard let id, let upload = uploads[id], upload.owner == name else {
        return try expect(reply, 404, "look")
      }
      try expect(reply, 200, "look")
      try settle(id, reply)
      let length = upload.length.map(String.init)
      if reply?.field("Upload-Offset") != "\(upload.bytes.count)" || reply?.field("Upload-Length") != length
        || (reply?.field("Upload-Defer-Length") == "1") != (length == nil)
      {
        throw Difference(description: "\(upload) is told as \(reply?.fields ?? [])")
      }
    }

    private mutating func end(_ id: String?) throws {
      let (token, name) = who()
      let reply = try desk.ask("DELETE", "/v1/uploads/\(id ?? "x")", token)
      guard let id, let upload = uploads[id], upload.owner == name else {
        return try expect(reply, 404, "end")
      }
      // Its file is what an attachment in the queue is made of.
      if upload.isAttached { return try expect(reply, 409, "end") }
      try expect(reply, 204, "end")
      uploads[id] = nil
    }

    private mutating func sweep() throws {
      try desk.apply(try desk.api.sweepUploads(begun: 0, isUsed: { _ in false }))
      // They are taken in in this order.
      for id in uploads.keys.sorted() { try settle(id, nil) }
    }

    private mutating func join() throws {
      let (token, name) = who()
      let parts = uploads.filter { $0.value.isPartial && $0.value.owner == name }.keys.sorted()
        .shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
      if parts.isEmpty { return }
      let reply = try desk.ask(
        "POST", "/v1/uploads", token,
        ["upload-concat": "final;" + parts.map { "/v1/uploads/\($0)" }.joined(separator: " ")])
      let all = parts.compactMap { uploads[$0] }
      if all.contains(where: { $0.bytes.count != $0.length }) { return try expect(reply, 400, "join") }
      let joined = all.flatMap(\.bytes)
      if joined.count > TusModelTests.longest { return try expect(reply, 413, "join") }
      if uploads.values.count(where: { $0.owner == name && $0.isOpen }) >= 12 + parts.count {
        return try expect(reply, 429, "one too many")
      }
      try expect(reply, 201, "join")
      for part in parts { uploads[part] = nil }
      guard let id = reply?.field("Location")?.split(separator: "/").last.map(String.init) else { return }
      uploads[id] = Expected(owner: name, length: joined.count, bytes: joined, isFinal: true)
      try settle(id, reply)
    }

    private mutating func append(to id: String?) throws {
      let known = id.flatMap { uploads[$0] }
      // Mostly the one whose it is.
      var (token, name) = who()
      if let owner = known?.owner, chance(85) { (token, name) = (String(owner.prefix(1)), owner) }
      let size = known?.bytes.count ?? 0
      let offset = chance(85) ? size : Int.random(in: 0...TusModelTests.longest, using: &random)
      let rest = (known?.length ?? TusModelTests.longest) - size
      let most = chance(85) ? max(rest, 1) : TusModelTests.longest + 20
      let body = bytes(chance(40) ? max(rest, 1) : Int.random(in: 1...most, using: &random))
      var fields = ["upload-offset": "\(offset)", "content-type": "application/offset+octet-stream"]
      let hasType = chance(95)
      if !hasType { fields["content-type"] = "text/plain" }
      var length: Int?
      if known?.length == nil, chance(30) {
        length =
          chance(80) ? offset + body.count : Int.random(in: 0...TusModelTests.longest + 9, using: &random)
        fields["upload-length"] = length.map { "\($0)" }
      }
      let (hasChecksum, isTrue) = (chance(40), chance(70))
      if hasChecksum {
        let digest = try MessageDigest(.sha1)
        (isTrue ? body : body + [1]).withUnsafeBytes { digest.add($0) }
        fields["upload-checksum"] = "sha1 \(Data(digest.finish()).base64EncodedString())"
      }
      let place = Int.random(in: 0..<body.count, using: &random)
      let fate: UploadDesk.Fate =
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .cut(place)
        case 1: .full(place)
        case 2: .killed(place)
        default: .whole
        }
      let reply = try desk.ask("PATCH", "/v1/uploads/\(id ?? "x")", token, fields, body, fate)

      guard let id, let upload = known, upload.owner == name else { return try expect(reply, 404, "append") }
      if !hasType { return try expect(reply, 415, "append") }
      if upload.isFinal { return try expect(reply, 403, "append") }
      if offset != size { return try expect(reply, 409, "append") }
      if upload.length == nil, let length {
        if length > TusModelTests.longest || length < size { return try expect(reply, 413, "append") }
        uploads[id]?.length = length
      }
      let room = (uploads[id]?.length ?? TusModelTests.longest) - size
      if !body.isEmpty && uploads[id]?.length == size { return try expect(reply, 409, "append") }
      if body.count > room { return try expect(reply, 413, "append") }
      switch fate {
      case .whole:
        if hasChecksum && !isTrue { return try expect(reply, 460, "append") }
        try expect(reply, 204, "append")
        uploads[id]?.bytes += body
        if reply?.field("Upload-Offset") != "\(size + body.count)" {
          throw Difference(description: "another offset: \(reply?.fields ?? [])")
        }
        try settle(id, reply)
      case .cut, .full:
        if case .full = fate { try expect(reply, 507, "append") } else { try expect(reply, 400, "append") }
        if !hasChecksum { uploads[id]?.bytes += body[..<place] }
      case .killed:
        if reply != nil { throw Difference(description: "an answer of one that was killed") }
        // Of a body with a checksum nothing counts that was not compared.
        if !hasChecksum { uploads[id]?.bytes += body[..<place] }
      }
    }

    /// The attachments are those that were uploaded, each once; and no file is of nobody.
    func check() throws {
      let attachments = try desk.attachments()
      if attachments.count != contents.count {
        throw Difference(description: "\(attachments.count) attachments of \(contents.count)")
      }
      guard let last = attachments.last, let content = contents.last else { return }
      let path = String(decoding: last.source, as: UTF8.self)
      // Its upload may have been ended since, and its file with it.
      if uploads[String(path.suffix(32))] != nil,
        FileManager.default.contents(atPath: path).map(Array.init) != content
      {
        throw Difference(description: "\(path) has another content")
      }
      let strays = desk.files.filter { uploads[String($0.prefix(32))] == nil }
      if !strays.isEmpty { throw Difference(description: "files of nobody: \(strays)") }
    }
  }
}

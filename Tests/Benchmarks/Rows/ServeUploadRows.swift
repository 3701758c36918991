import Glibc
import Platform

/// Uploads: how fast one is, and how soon what came of it is told.
enum ServeUploadRows {
  /// By tus, with a checksum, until it is on disk; beside `cp` and `sync` of the same bytes on the same disk.
  static func uploads(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let count = settings.size(100, quick: 20) << 20
    try ground.needs(Int64(count) * 12)
    let served = try ServedSluice(ground.store("uploads"))
    let digest = try MessageDigest(.sha256)
    var (ours, theirs): ([Double], [Double]) = ([], [])
    for round in 0...settings.rounds(atMost: 3) {
      // Equal contents would be stored once.
      let content = [UInt8](repeating: UInt8(round + 65), count: count)
      digest.begin()
      content.withUnsafeBytes { digest.add($0) }
      let sum = digest.finish().withUnsafeBytes { String(decoding: Base64.letters(of: $0), as: UTF8.self) }
      let source = ground.store("source")
      try Files.write(content, to: source)
      ground.settleDisk()
      var began = Clock.monotonic()
      try upload(source, count, sum, served)
      let own = QueueRows.seconds(since: began)
      // What becomes of it is not to go on beside the other.
      usleep(1_500_000)
      ground.settleDisk()
      began = Clock.monotonic()
      let copy = ground.store("copy")
      try Child(["/bin/cp", source, copy], out: Ground.output("cp")).end(as: 0)
      try Child(["/bin/sync", copy], out: Ground.output("sync")).end(as: 0)
      let other = QueueRows.seconds(since: began)
      if round > 0 {
        ours.append(Double(count) / 1e6 / own)
        theirs.append(Double(count) / 1e6 / other)
      }
    }
    try served.end()
    return [
      TableRow(
        "serve: upload of \(count >> 20) MB, hashed and synced", "MB/s", ours, "cp and sync", theirs,
        goal: .atLeast(0.6))
    ]
  }

  private static func upload(_ source: String, _ count: Int, _ sum: String, _ served: ServedSluice) throws {
    let client = try HTTPClient(served.port)
    let version = "Tus-Resumable: 1.0.0"
    try client.send(
      HTTPClient.request(
        "POST", "/v1/uploads", token: served.token, [version, "Upload-Length: \(count)"], length: 0))
    let made = try client.answer()
    guard let place = made.field("location") else { throw BenchError("no upload: \(made.head)") }
    try client.send(
      HTTPClient.request(
        "PATCH", place, token: served.token,
        [
          version, "Upload-Offset: 0", "Upload-Checksum: sha256 \(sum)",
          "Content-Type: application/offset+octet-stream",
        ],
        length: count))
    try client.send(file: source, count: count)
    let answer = try client.answer()
    guard answer.status == 204, answer.field("attachment-id") != nil else {
      throw BenchError("the upload is refused: \(answer.head)")
    }
  }

  /// - Returns: the attachment's id.
  static func post(_ content: [UInt8], _ name: String, _ port: UInt16, _ token: String) throws -> String {
    let client = try HTTPClient(port)
    try client.send(
      HTTPClient.request("POST", "/v1/attachments?filename=\(name)", token: token, length: content.count))
    try client.send(content)
    let answer = String(decoding: try client.answer().body, as: UTF8.self)
    guard let place = answer.range(of: "\"id\":\"") else { throw BenchError("not taken: \(answer)") }
    return String(answer[place.upperBound...].prefix { $0 != "\"" })
  }

  /// From the last byte of a PDF of 10 MB until who sent it is told that it is completed; and what memory all of that took.
  static func latency(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let served = try ServedSluice(ground.store("latency"))
    let token = try served.token(of: "ann")
    let listener = try HTTPClient(served.port)
    try listener.send(HTTPClient.request("GET", "/v1/events", token: token))
    var times: [Double] = []
    for round in 0...settings.size(20, quick: 4) {
      let pdf = document(10 << 20, round)
      let client = try HTTPClient(served.port)
      try client.send(
        HTTPClient.request("POST", "/v1/attachments?filename=a.pdf", token: token, length: pdf.count))
      try client.send(pdf)
      let began = Clock.monotonic()
      try hear(listener, "\"status\":\"completed\"")
      if round > 0 { times.append(QueueRows.seconds(since: began) * 1e3) }
      _ = try client.answer()
    }
    let memory = try Processes.peak(served.pid) + Processes.peak(served.server())
    try served.end()
    return [
      TableRow("serve: from the last byte of a PDF of 10 MB to its event", "ms", times, goal: .atMost(300)),
      TableRow(
        "serve: memory of coordinator and server with it", "MiB", [memory / 1_048_576], goal: .atMost(160)),
    ]
  }

  /// Reads a stream of events until something has come.
  private static func hear(_ client: HTTPClient, _ wanted: String) throws {
    var (text, room) = ("", [UInt8](repeating: 0, count: 64 << 10))
    while !text.contains(wanted) {
      var one = pollfd(fd: client.socket.number, events: Int16(POLLIN), revents: 0)
      if poll(&one, 1, 30_000) <= 0 { throw BenchError("it is not told: \(text.suffix(300))") }
      let count = recv(client.socket.number, &room, room.count, 0)
      if count <= 0 { throw BenchError("the stream ended: \(text.suffix(300))") }
      text += String(decoding: room[..<count], as: UTF8.self)
    }
  }

  /// A PDF of one page, with a stream of so many bytes that no page shows.
  private static func document(_ size: Int, _ number: Int) -> [UInt8] {
    var bytes = Array("%PDF-1.4\n".utf8)
    var places: [Int] = []
    func add(_ text: String) { bytes += Array(text.utf8) }
    for object in [
      "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
      "<</Type/Page/Parent 2 0 R/MediaBox[0 0 100 100]>>",
    ] {
      places.append(bytes.count)
      add("\(places.count) 0 obj\(object)endobj\n")
    }
    places.append(bytes.count)
    add("4 0 obj<</Length \(size)>>stream\n\(number) ")
    bytes += [UInt8](repeating: UInt8(ascii: "x"), count: size - "\(number) ".utf8.count)
    add("\nendstream endobj\n")
    let table = bytes.count
    add("xref\n0 5\n0000000000 65535 f \n")
    for place in places {
      let digits = String(place)
      add(String(repeating: "0", count: 10 - digits.count) + digits + " 00000 n \n")
    }
    add("trailer<</Size 5/Root 1 0 R>>\nstartxref\n\(table)\n%%EOF\n")
    return bytes
  }
}

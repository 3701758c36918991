import Glibc
import Platform

/// The server of HTTP beside nginx, which serves files.
enum ServeRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("serve: requests") { try requests(settings, ground) }
    report.measure("serve: uploads") { try ServeUploadRows.uploads(settings, ground) }
    report.measure("serve: a PDF") { try ServeUploadRows.latency(settings, ground) }
    report.measure("serve: streams") { try ServeStreamRows.run(settings, ground) }
  }

  private static let clients = 16

  /// How many are answered for a second of processor time: the coordinator's and the server's, or that of nginx.
  private static func requests(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let object = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
    let served = try ServedSluice(ground.store("serve"))
    let id = try ServeUploadRows.post(object, "object.txt", served.port, served.token)
    let record = try wait(for: id, served)
    let folder = ground.store("static")
    try Files.makeFolder(folder)
    try Files.write(record, to: folder + "/record.json")
    try Files.write(object, to: folder + "/object.txt")
    let nginx = try WebServer(folder)
    defer { try? nginx.end() }
    let ours = [served.pid, try served.server()]
    let theirs = [nginx.pid] + (try Processes.children(of: nginx.pid))
    var rows: [TableRow] = []
    for (name, path, file, goal) in [
      ("the version as JSON", "/version", "record.json", nil),
      ("a record as JSON", "/v1/attachments/\(id)", "record.json", 0.5),
      ("1 MB with a token", "/v1/attachments/\(id)/content", "object.txt", 0.7),
    ] as [(String, String, String, Double?)] {
      let (own, other) = (
        try HTTPLoad(served.port, clients: clients, HTTPClient.request("GET", path, token: served.token)),
        try HTTPLoad(nginx.port, clients: clients, HTTPClient.request("GET", "/" + file))
      )
      var (own_, other_): ([Double], [Double]) = ([], [])
      let seconds = settings.isQuick ? 0.5 : 2
      for round in 0...settings.rounds() {
        let one = try rate(own, ours, seconds)
        let two = try rate(other, theirs, seconds)
        // The first round is not counted.
        if round > 0 { (own_, other_) = (own_ + [one], other_ + [two]) }
      }
      rows.append(
        TableRow(
          "serve: \(name), for a second of processor time", "1/s", own_, "nginx", other_,
          goal: goal.map { .atLeast($0) }))
    }
    try served.end()
    return rows
  }

  private static func rate(_ load: HTTPLoad, _ pids: [pid_t], _ seconds: Double) throws -> Double {
    let before = try Processes.seconds(pids)
    let answers = try load.run(seconds: seconds)
    return Double(answers) / (try Processes.seconds(pids) - before)
  }

  /// Waits until an attachment is completed.
  ///
  /// - Returns: its record.
  static func wait(for id: String, _ served: ServedSluice) throws -> [UInt8] {
    let client = try HTTPClient(served.port)
    let started = Clock.monotonic()
    while QueueRows.seconds(since: started) < 30 {
      try client.send(HTTPClient.request("GET", "/v1/attachments/\(id)", token: served.token))
      let record = try client.answer().body
      if String(decoding: record, as: UTF8.self).contains("\"status\":\"completed\"") { return record }
      usleep(10_000)
    }
    throw BenchError("attachment \(id) is not completed")
  }
}

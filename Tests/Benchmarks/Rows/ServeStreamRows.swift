import CPlatform
import Glibc
import Platform

/// Many who listen to events.
enum ServeStreamRows {
  static func run(_ settings: Settings, _ ground: Ground) throws -> [TableRow] {
    let count = settings.size(10_000, quick: 1000)
    try raiseDescriptors(to: count + 500)
    let served = try ServedSluice(
      ground.store("streams"), settings: ", connections: \(count + 100), per-address: \(count + 100)")
    let pids = [served.pid, try served.server()]
    let epoll = sluice_epoll()
    defer { close(epoll) }
    // What the first takes, all share.
    let request = HTTPClient.request("GET", "/v1/events", token: served.token)
    let first = try HTTPClient(served.port)
    try first.send(request)
    usleep(500_000)
    let before = try pids.map(Processes.ownMemory).reduce(0, +)
    var clients: [HTTPClient] = []
    for index in 0..<count {
      clients.append(try HTTPClient(served.port))
      try clients[index].send(request)
      sluice_epoll_add(epoll, clients[index].socket.number, UInt64(index), 1, 0)
      // Where more come than can be answered, the server turns some away.
      if index % 50 == 49 { usleep(10_000) }
    }
    guard try heard(epoll, clients, by: count, "event: start") else {
      throw BenchError("not all of \(count) streams have begun")
    }
    usleep(500_000)
    let each = (try pids.map(Processes.ownMemory).reduce(0, +) - before) / Double(count)
    let operated = try HTTPClient(served.port)
    var times: [Double] = []
    for round in 0...settings.rounds() * 2 {
      usleep(300_000)
      let verb = round % 2 == 0 ? "pause" : "resume"
      let began = Clock.monotonic()
      try operated.send(
        HTTPClient.request("POST", "/v1/lanes/attachments/\(verb)", token: served.token, length: 0))
      guard try heard(epoll, clients, by: count / 2, "event: lane") else {
        throw BenchError("a change was not told to \(count / 2)")
      }
      if round > 0 { times.append(QueueRows.seconds(since: began) * 1e3) }
      _ = try operated.answer()
    }
    clients = []
    try served.end()
    let many = Table.number(Double(count))
    return [
      TableRow("serve: memory of each of \(many) idle streams", "B", [each], goal: .atMost(2048)),
      TableRow(
        "serve: a change until \(Table.number(Double(count / 2))) of \(many) have it", "ms", times,
        goal: .atMost(100)),
    ]
  }

  /// Reads until so many have heard something.
  private static func heard(
    _ epoll: Int32, _ clients: [HTTPClient], by count: Int, _ wanted: String
  ) throws -> Bool {
    let wanted = Array(wanted.utf8)
    var room = [UInt8](repeating: 0, count: 4096)
    var ready = [sluice_ready](repeating: sluice_ready(), count: 64)
    var who: Set<UInt64> = []
    while who.count < count {
      let found = sluice_epoll_wait(epoll, &ready, 64, 10_000)
      if found <= 0 { return false }
      for event in ready[..<Int(found)] {
        let length = recv(clients[Int(event.tag)].socket.number, &room, room.count, Int32(MSG_DONTWAIT))
        if length <= 0 { return false }
        let holds = room[..<length].indices.contains { place in
          room[place] == wanted[0] && room[place..<length].starts(with: wanted)
        }
        if holds { who.insert(event.tag) }
      }
    }
    return true
  }

  private static func raiseDescriptors(to count: Int) throws {
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    if limits.rlim_max < rlim_t(count) {
      throw Skipped(reason: "it needs \(count) descriptors, and \(limits.rlim_max) are allowed")
    }
    limits.rlim_cur = limits.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
  }
}

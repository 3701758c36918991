import CPlatform
import Foundation
import FrontWire
import Glibc
import HomeFolder
import LedgerPort
import LedgerSQLite
import Platform
import Synchronization
import Testing

@testable import FrontDoor

/// Those who listen to events are told all that they may see, once, however often their connection is cut.
struct EventStreamsTests {
  private static let rounds = ProcessInfo.processInfo.environment["SLUICE_SOAK"] == nil ? 100 : 1000

  /// What was sent to each stream.
  private final class Wires: Sendable {
    private let texts = Mutex<[UInt64: String]>([:])

    func send(_ serials: [UInt64], _ bytes: [UInt8]) {
      let text = String(decoding: bytes, as: UTF8.self)
      texts.withLock { texts in for serial in serials { texts[serial, default: ""] += text } }
    }

    func close(_ serial: UInt64) { send([serial], Array("(over)".utf8)) }

    func take(_ serial: UInt64) -> String { texts.withLock { $0.removeValue(forKey: serial) ?? "" } }
    func count(containing part: String) -> Int {
      texts.withLock { $0.values.count { $0.contains(part) } }
    }
    func look(_ serial: UInt64) -> String { texts.withLock { $0[serial] ?? "" } }
  }

  private struct Event: Equatable {
    var kind: String
    var id: String
    /// The attachment's.
    var subject: String

    /// The events of a text; a comment or a time to wait is none.
    static func all(_ text: String) -> [Event] {
      var events: [Event] = []
      var (kind, id) = ("", "")
      for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
        let line = Substring(line)
        if line.hasPrefix("event: ") { kind = String(line.dropFirst(7)) }
        if line.hasPrefix("id: ") { id = String(line.dropFirst(4)) }
        guard line.hasPrefix("data: {") else { continue }
        // The id is the first member.
        let parts = line.utf8.split(separator: UInt8(ascii: "\""), maxSplits: 4)
        events.append(Event(kind: kind, id: id, subject: parts.count > 3 ? String(Substring(parts[3])) : ""))
      }
      return events
    }
  }

  /// One who listens, over several connections.
  private struct Client {
    var user: String?
    var serial: UInt64
    var heard: [Event] = []
  }

  private final class Bench {
    let desk: UploadDesk
    let wires = Wires()
    let streams: EventStreams
    private let stopping: Int32
    private var thread: Platform.Thread?
    private var items = 0

    init() throws {
      desk = try UploadDesk()
      streams = try EventStreams(finish: { _ in }, abort: { [wires] in wires.close($0) }) { [wires] in
        wires.send($0, $1)
      }
      stopping = sluice_eventfd()
      let (home, streams, stopping) = (desk.home, streams, stopping)
      thread = try Platform.Thread { streams.run({ try? home.reader() }, until: stopping) }
    }

    deinit {
      sluice_eventfd_raise(stopping)
      thread?.join()
      close(stopping)
    }

    /// Takes attachments in with one change.
    func takeIn(_ count: Int, of sender: String, with participants: [String]) throws {
      let new = (0..<count).map { _ in
        items += 1
        var item = IntakeItem()
        (item.conversationId, item.senderId, item.participants) = ("c", sender, participants)
        (item.fileName, item.source) = ("\(items)", Array("/\(items)".utf8))
        return item
      }
      _ = try desk.apply([.takeIn(new)])
    }

    func wait(_ what: String, _ condition: () -> Bool) {
      for _ in 0..<300 where !condition() { usleep(50_000) }
      #expect(condition(), "\(what)")
    }
  }

  /// The ledger is asked each 200 ms, and nobody says here that it has changed.
  @Test func whoIsDismissedHearsWhatHasChangedBefore() throws {
    let bench = try Bench()
    for serial in 1...20 as ClosedRange<UInt64> {
      bench.streams.add(serial, EventStreams.Listener(user: "ann", lastEventId: nil))
      bench.wait("it listens") { bench.wires.look(serial).contains("event: start") }
      try bench.takeIn(1, of: "ann", with: ["ben"])
      #expect(bench.streams.dismiss(serial) && !bench.streams.dismiss(serial))
      bench.wait("it is over") { bench.wires.look(serial).contains("(over)") }
      let heard = bench.wires.take(serial)
      #expect(heard.contains("event: attachment") && heard.hasSuffix("(over)"), "\(heard)")
      bench.streams.remove([serial])
    }
    #expect(!bench.streams.dismiss(99), "it is no stream")
  }

  @Test func eachHearsAllThatItMaySeeAndNothingTwice() throws {
    let bench = try Bench()
    var random = SystemRandomNumberGenerator()
    var serial: UInt64 = 0
    /// For each who listens one whose connection stays.
    var whole: [Client] = []
    var cut: [Client] = []
    for user in ["ann", "ben", "eve", nil] {
      for isCut in [false, true] {
        serial += 1
        bench.streams.add(serial, EventStreams.Listener(user: user, lastEventId: nil))
        if isCut {
          cut.append(Client(user: user, serial: serial))
        } else {
          whole.append(Client(user: user, serial: serial))
        }
      }
    }
    bench.wait("all have begun") { (1...serial).allSatisfy { bench.wires.look($0).contains("start") } }
    for client in cut.indices {
      cut[client].heard = Event.all(bench.wires.take(cut[client].serial))
    }
    for _ in 0..<Self.rounds {
      let sender = Bool.random() ? "ann" : "ben"
      try bench.takeIn(Int.random(in: 1...3), of: sender, with: Bool.random() ? ["ann", "ben"] : [sender])
      if Bool.random() { bench.streams.hurry() }
      if Int.random(in: 0..<4) == 0 { usleep(UInt32.random(in: 0...3000)) }
      guard let index = cut.indices.randomElement(using: &random) else { continue }
      // The connection breaks: of what was sent, the client has got the beginning.
      bench.streams.remove([cut[index].serial])
      let sent = Event.all(bench.wires.take(cut[index].serial))
      cut[index].heard += sent.prefix(Int.random(in: 0...sent.count))
      serial += 1
      cut[index].serial = serial
      bench.streams.add(
        serial, EventStreams.Listener(user: cut[index].user, lastEventId: cut[index].heard.last?.id))
    }
    func heard(_ client: Client) -> [Event] { client.heard + Event.all(bench.wires.look(client.serial)) }
    for (one, other) in zip(whole, cut) {
      bench.wait("\(one.user ?? "the operator") hears the same") { heard(one).count == heard(other).count }
      #expect(heard(one).map(\.subject) == heard(other).map(\.subject))
      #expect(heard(one).filter { $0.kind == "reset" }.isEmpty)
    }
    #expect(heard(whole[2]).count == 1, "eve sees nothing but the start")
    let all = heard(whole[3]).count { $0.kind == "attachment" }
    #expect(all > Self.rounds && heard(whole[0]).count < all)
  }

  @Test func whoWasAwayForTooLongBeginsAnew() throws {
    let bench = try Bench()
    try bench.takeIn(1, of: "ann", with: ["ann"])
    for (serial, id) in [(1, "x"), (2, "7-1"), (3, "-1--1+9")] as [(UInt64, String)] {
      bench.streams.add(serial, EventStreams.Listener(user: nil, lastEventId: id))
      bench.wait("it is told to begin anew") {
        Event.all(bench.wires.look(serial)).map(\.kind) == ["reset"]
      }
    }
    let id = try #require(Event.all(bench.wires.look(2)).last?.id)
    try bench.takeIn(1, of: "ann", with: ["ann"])
    bench.streams.add(4, EventStreams.Listener(user: nil, lastEventId: id))
    bench.wait("from there on it hears all") {
      [1, 2, 3, 4].allSatisfy { Event.all(bench.wires.look($0)).last?.kind == "attachment" }
    }
  }

  @Test func fiveThousandAreToldAtOnce() throws {
    let bench = try Bench()
    for serial in 1...5000 as ClosedRange<UInt64> {
      bench.streams.add(
        serial, EventStreams.Listener(user: serial % 2 == 0 ? "ann" : nil, lastEventId: nil))
    }
    bench.wait("all have begun") {
      bench.streams.count == 5000 && bench.wires.count(containing: "event: start") == 5000
    }
    try bench.takeIn(1, of: "ann", with: ["ann"])
    bench.streams.hurry()
    bench.wait("all are told") { bench.wires.count(containing: "event: attachment") == 5000 }
    bench.streams.removeAll()
    bench.wait("none is left") { bench.streams.count == 0 }
  }
}

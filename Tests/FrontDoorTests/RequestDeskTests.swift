import FrontWire
import Glibc
import Testing
import Wire

@testable import FrontDoor

/// Who has an upload to itself, and who waits.
struct RequestDeskTests {
  private let desk = RequestDesk()

  private func step(_ serial: UInt64, life: UInt64) -> RequestDesk.Step {
    let request = FrontRequest(
      serial: serial, method: "HEAD", segments: [], query: [], fields: [], body: .none, peer: "")
    return (RequestDesk.Asked(request: request, life: life), .look)
  }

  /// A process has a request for each connection; the end of a request may come after the beginning of the next.
  @Test func aProcessHasNoMoreRequestsThanConnections() throws {
    let desk = RequestDesk(connections: 2)
    func entry(_ serial: UInt64) -> (serial: UInt64, entry: AccessLog.Entry) {
      (serial, AccessLog.Entry(step(serial, life: 1).asked.request, peer: ""))
    }
    _ = try desk.open((1...1002).map(entry))
    #expect(throws: FrameError.self) { try desk.open([entry(1003)]) }
    let end = FrontEnd(status: 200, received: 0, sent: 0, microseconds: 0, isWhole: true)
    _ = try desk.close([7: end])
    _ = try desk.open([entry(1003)])
    #expect(desk.openCount == 1002)
  }

  /// Threads take requests in any order: a newer one ends an older one, and is never ended by it.
  @Test func anOlderRequestWaitsForANewerOne() {
    let (end, other) = pair()
    defer { for socket in [end, other] { close(socket) } }
    let life = desk.begin(end)
    #expect(desk.claim("a", step(6, life: life)) == .mine)
    #expect(desk.claim("a", step(5, life: life)) == .parked(behind: 6, isNewer: false))
    #expect(desk.claim("a", step(7, life: life)) == .parked(behind: 6, isNewer: true))
    #expect(desk.takeParked("a") == nil, "one has it")
    desk.release("a", 6)
    #expect(desk.takeParked("a")?.asked.serial == 5)
    #expect(desk.takeParked("a")?.asked.serial == 7)
    #expect(desk.claim("b", step(8, life: life)) == .mine)
  }

  /// It is not cut off for a newer one, which would lose its answer; and it may go on with the same upload.
  @Test func anUploadWhoseRowChangesIsKeptByTheRequestThatChangesIt() {
    let (end, other) = pair()
    defer { for socket in [end, other] { close(socket) } }
    let life = desk.begin(end)
    #expect(desk.claim("a", step(1, life: life)) == .mine)
    desk.change("a", true, 1)
    #expect(desk.claim("a", step(2, life: life)) == .parked(behind: 1, isNewer: false))
    #expect(desk.takeParked("a") == nil)
    desk.change("a", false, 1)
    #expect(desk.claim("a", step(1, life: life)) == .mine)
    #expect(desk.claim("a", step(3, life: life)) == .parked(behind: 1, isNewer: true))
    desk.change("a", true, 1)
    desk.release("a", 1)
    #expect(desk.takeParked("a")?.asked.serial == 2)
    #expect(desk.claim("a", step(2, life: life)) == .mine)
    #expect(
      desk.claim("a", step(4, life: life)) == .parked(behind: 2, isNewer: true), "nothing changes any more")
  }

  /// What a process that has ended had begun keeps nobody from an upload.
  @Test func aRequestOfAnEndedProcessHasNothing() {
    let (end, other) = pair()
    defer { for socket in [end, other] { close(socket) } }
    let first = desk.begin(end)
    #expect(desk.claim("a", step(1, life: first)) == .mine)
    _ = desk.end(first)
    #expect(desk.claim("a", step(2, life: first)) == .over)
    let second = desk.begin(end)
    #expect(desk.claim("a", step(2, life: first)) == .over)
    desk.store(
      RequestDesk.Storing(asked: step(2, life: first).asked, upload: "a") { _, _ in .reply(Problem.away.reply)
      })
    #expect(!desk.isUsed("a"))
    #expect(desk.claim("a", step(3, life: second)) == .mine)
  }

  private func pair() -> (Int32, Int32) {
    var sockets: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &sockets) == 0)
    return (sockets[0], sockets[1])
  }
}

import Glibc
import StageKit

/// The inquiries, several at a time, and the attachments that wait for theirs.
final class Scanner {
  /// What became of an inquiry.
  struct Ending {
    var attachment: Attachment
    var reply: Result<Reply, Outcome>
    /// What clamd says that it is.
    var engine: String?
  }

  private let route: Route
  private let timeout: Int64
  private var underway: [Inquiry] = []
  /// Not begun yet, in order.
  private var waiting: [Attachment] = []
  private var ended: [Ending] = []
  private var engine: String?
  private var engineIsOld = Deadline(after: 0)

  /// Inquiries under way at a time.
  private static let limit = 16
  /// How long a version is reused, in milliseconds. clamd loads a new database a few times a day.
  private static let engineAge: Int64 = 60_000

  /// - Parameter timeout: for all requests about one attachment, in milliseconds.
  init(at address: ScannerAddress, timeout: Int64, _ opening: Opening) throws(Outcome) {
    route = try Route(to: address, opening)
    self.timeout = timeout
  }

  /// Whether attachments are under way.
  var isBusy: Bool { !underway.isEmpty || !waiting.isEmpty || !ended.isEmpty }

  /// Takes an attachment, which is asked about when it is its turn.
  func add(_ attachment: Attachment) {
    waiting.append(attachment)
    start()
  }

  /// Waits until an inquiry has ended, a descriptor can be read or the time is over, and returns those that have ended.
  func turn(wake: Int32, for milliseconds: Int64) -> [Ending] {
    let end = Deadline(after: milliseconds)
    repeat {
      dropUnwanted()
      if !ended.isEmpty { break }
      if step(wake, by: end) { break }
    } while ended.isEmpty && !end.hasPassed
    defer { ended.removeAll(keepingCapacity: true) }
    return ended
  }

  /// True: `wake` can be read.
  private func step(_ wake: Int32, by end: Deadline) -> Bool {
    let interests = underway.map(\.interest)
    var states = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
    states += interests.map { pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0) }
    let until = interests.compactMap(\.until).reduce(end) { $0.earlier(of: $1) }
    if poll(&states, nfds_t(states.count), until.remaining) < 0 {
      // EINTR, or memory that the kernel lacks: nothing is known to be ready.
      for place in states.indices { states[place].revents = 0 }
    }
    route.collect()
    for (inquiry, state) in zip(underway, states.dropFirst()) { goOn(inquiry, state.revents) }
    start()
    return states[0].revents != 0
  }

  private func goOn(_ inquiry: Inquiry, _ ready: Int16) {
    do throws(Outcome) {
      switch try inquiry.goOn(ready) {
      case .waits: break
      case .version(let text): (engine, engineIsOld) = (text, Deadline(after: Self.engineAge))
      case .reply(let reply): end(inquiry, .success(reply))
      }
    } catch {
      end(inquiry, .failure(error))
    }
  }

  private func end(_ inquiry: Inquiry, _ reply: Result<Reply, Outcome>) {
    underway.removeAll { $0 === inquiry }
    ended.append(Ending(attachment: inquiry.attachment, reply: reply, engine: engine))
  }

  private func start() {
    while underway.count < Self.limit, !waiting.isEmpty {
      let attachment = waiting.removeFirst()
      do throws(Outcome) {
        underway.append(
          try Inquiry(
            about: attachment, route, asksVersion: engineIsOld.hasPassed, timeout: timeout))
      } catch {
        ended.append(Ending(attachment: attachment, reply: .failure(error), engine: nil))
      }
    }
  }

  private func dropUnwanted() {
    let outcome = Outcome.unavailable("the result was not waited for any longer")
    for inquiry in underway where inquiry.attachment.isCancelled { end(inquiry, .failure(outcome)) }
    let unwanted = waiting.filter(\.isCancelled)
    waiting.removeAll(where: \.isCancelled)
    ended += unwanted.map { Ending(attachment: $0, reply: .failure(outcome), engine: nil) }
  }
}

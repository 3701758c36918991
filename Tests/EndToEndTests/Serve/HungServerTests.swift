import Foundation
import Glibc
import Testing

/// The process that speaks HTTP lives, and does nothing.
@Suite(.serialized)
struct HungServerTests {
  @Test func oneThatHangsIsEndedAndAnotherServes() throws {
    let served = try ServedHome(TemporaryFolder())
    let hung = served.server
    let began = Date()
    #expect(kill(hung, SIGSTOP) == 0)
    try Resident.wait("another answers") {
      served.server != hung && served.server != 0 && (try? served.ask("GET", "/livez"))?.status == 200
    }
    let seconds = Date().timeIntervalSince(began)
    #expect(8...20 ~= seconds, "after \(seconds) s")
    #expect(served.errors.contains("the HTTP server has not turned for 10 s, and is ended"))
    #expect(kill(hung, 0) != 0)
    #expect(served.stop() == 0)
  }

  /// That is what a machine does that sleeps, and a person who presses Ctrl-Z.
  @Test(.enabled(if: Soak.isOn, Soak.skipped)) func oneThatWasStoppedWithTheProgramIsNotEnded() throws {
    let served = try ServedHome(TemporaryFolder())
    let server = served.server
    for seconds in [3, 15] as [UInt32] {
      for process in [served.coordinator, server] { #expect(kill(process, SIGSTOP) == 0) }
      sleep(seconds)
      for process in [served.coordinator, server] { #expect(kill(process, SIGCONT) == 0) }
      sleep(3)
      #expect(try served.ask("GET", "/livez").status == 200)
      #expect(served.server == server, "\(served.errors)")
    }
    Soak.row("a server stopped together with its coordinator", tries: 2, failures: 0)
    #expect(served.stop() == 0)
  }
}

import Foundation
import Testing

/// What breaks the rules of HTTP, bends them, or only looks like it: each is answered as it may be, and disturbs nobody else.
struct RawProbesTests {
  @Test func eachProbeIsAnsweredAsItMayBe() throws {
    let folder = try TemporaryFolder()
    try folder.write("serve.yaml", ProbeRun.pipeline)
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let (run, server) = (try ProbeRun(served), served.server)
    var count = 0
    for (theme, probes) in Probe.themes {
      for probe in probes {
        count += 1
        for fault in try run.faults(probe) { Issue.record("\(theme): \(probe.name): \(fault)") }
        if !run.isWell() { Issue.record("\(theme): after \(probe.name), nobody is answered within a second") }
      }
    }
    #expect(count > 200)
    let names = Probe.themes.flatMap { theme in theme.value.map { "\(theme.key): \($0.name)" } }
    let twice = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys
    #expect(twice.isEmpty, "each has a name of its own")
    // What was no part of the upload is not in it.
    #expect(try run.client.state(run.upload).offset == 0)
    #expect(served.server == server, "the process that speaks with the world is the same: \(served.errors)")
    #expect(served.stop() == 0)
  }

  /// It is not read to its end, which may never come.
  @Test func aBodyWithoutAnEndIsAnsweredOnceItIsTooLong() throws {
    let folder = try TemporaryFolder()
    try folder.write("serve.yaml", ProbeRun.pipeline)
    let served = try ServedHome(folder, options: ["--config", "serve.yaml"])
    let token = try served.token("ann")
    let connection = try RawConnection(port: served.port)
    connection.send(
      "POST /v1/attachments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    let chunk = Array("1000\r\n\(String(repeating: "x", count: 0x1000))\r\n".utf8)
    var answer: RawConnection.Answer?
    for _ in 0..<1000 where answer == nil {
      connection.send(chunk)
      answer = connection.answer(within: 1)
    }
    #expect(answer?.status == 413)
    #expect(served.stop() == 0)
  }
}

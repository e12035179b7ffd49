// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// shards is in how many processes the whole suite runs. Its tests mostly wait, but
// cannot run at once in one process: they read the metrics of the process, and see
// all Services and nodes of its cluster. So the process that the go tool starts runs
// no test itself. It starts this program again for each shard of the tests, with a
// cluster of its own, and then for lastTest.
var shards = flag.Int("shards", 5, "in how many processes the tests run side by side, if all of them are to run on the simulator")

// callsFile is where shards leave the calls that they have made, for lastTest.
var callsFile = flag.String("calls", "", "file for the calls to OpenStack that are made by several processes")

// shardable are the flags that leave the suite whole. With any other there is one
// process: those choose tests, write files, or name a real OpenStack, of which there
// is only one.
var shardable = []string{
	"shards", "kill-rounds", "logs", "test.count", "test.fullpath", "test.paniconexit0", "test.short", "test.testlogfile", "test.timeout", "test.v",
}

// sharded reports whether this process must start others that run the tests.
func sharded() bool {
	whole := *shards > 1
	flag.Visit(func(f *flag.Flag) { whole = whole && slices.Contains(shardable, f.Name) })
	return whole
}

// suite is the whole of the tests, as it is run by several processes.
type suite struct {
	program string
	// dir has the files by which the processes report.
	dir string
	// out is where the output of all goes, and show is held to write there.
	out  io.Writer
	show sync.Mutex
}

// runShards runs the whole suite and returns the status to exit with.
func runShards() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "kube-octavia-e2e-")
	if err == nil {
		defer os.RemoveAll(dir)
		s := suite{dir: dir, out: os.Stdout}
		if s.program, err = os.Executable(); err == nil {
			err = s.run(ctx)
		}
	}
	if err != nil {
		fmt.Printf("%v\nFAIL\n", err)
		return 1
	}
	fmt.Println("PASS")
	return 0
}

// run runs the shards at once, then lastTest, also if a shard failed.
func (s *suite) run(ctx context.Context) error {
	tests, err := s.deal(ctx)
	if err != nil {
		return err
	}
	failures := make([]error, *shards+1)
	var running sync.WaitGroup
	for i := range *shards {
		running.Go(func() { failures[i] = s.start(ctx, i, tests[i]) })
	}
	running.Wait()
	failures[*shards] = s.start(ctx, *shards, []string{lastTest})
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	if len(failures) > 0 {
		return fmt.Errorf("of the processes that ran the tests, %d failed: %v", len(failures), failures)
	}
	return s.keepTestLog()
}

// slow are the tests that take 25 seconds or more on two cores, with what each took. Most of the others take 5 seconds.
var slow = map[string]int{
	"TestEveryAnnotationIsChangedLiveWithoutAFailureOnPortsThatStay":            90,
	"TestControllerOfTheImageServesAService":                                    75,
	"TestOneNamespaceDoesNotDelayAnother":                                       70,
	"TestNothingIsLeftOfASharedLoadBalancerWhateverTheStateOfItsServices":       62,
	"TestADrainReleasesOnlyTheServicesOfTheController":                          62,
	"TestUpgradeAndDowngradeWriteNothing":                                       49,
	"TestControllerRecoversFromEveryFailureOfACall":                             44,
	"TestCleanupDeletesWhatALostClusterLeftAndNothingElse":                      41,
	"TestNextControllerReleasesAServiceOfAGroupWheneverThePreviousOneWasKilled": 77,
	"TestLoadBalancersOfTheOtherControllerAreTakenOverByTheirTagsAlone":         35,
	"TestSecretsAreNotShownByAnyFailure":                                        31,
	"TestNothingIsDeletedWhileReadsFail":                                        61,
	"TestChangesThatOctaviaFailedToCarryOutAreRepeated":                         29,
	"TestARollingUpdateThatWaitsForGatesFailsNoRequest":                         27,
	"TestADrainWaitsUntilTheControllerHasStopped":                               27,
	"TestServicesThatChangeTogetherShareTheirReads":                             26,
	"TestPodsAreReplacedOneAfterTheOtherWithoutAFailedRequest":                  26,
	"TestObjectsThatOctaviaLeftPendingBecomeActiveThoughTheControllerIsKilled":  25,
	"TestReplacementSurvivesAControllerThatIsKilled":                            25,
}

// deal lists all tests but lastTest and deals them out to the shards: the slowest first, and each to the shard that has the
// least to do so far. Otherwise one shard runs for minutes after the others have ended.
func (s *suite) deal(ctx context.Context) ([][]string, error) {
	list, err := exec.CommandContext(ctx, s.program, "-test.list=.").Output()
	if err != nil {
		return nil, fmt.Errorf("list the tests: %w: %s", err, list)
	}
	tests := strings.Fields(string(list))
	last := slices.Index(tests, lastTest)
	if last < 0 {
		return nil, fmt.Errorf("there is no %s among the %d tests", lastTest, len(tests))
	}
	seconds := func(test string) int {
		if known := slow[test]; known > 0 {
			return known
		}
		return 5
	}
	tests = slices.Delete(tests, last, last+1)
	slices.SortStableFunc(tests, func(a, b string) int { return seconds(b) - seconds(a) })
	dealt, work := make([][]string, *shards), make([]int, *shards)
	for _, test := range tests {
		least := slices.Index(work, slices.Min(work))
		dealt[least] = append(dealt[least], test)
		work[least] += seconds(test)
	}
	return dealt, nil
}

// start runs the tests in a process of their own, with the flags of this one.
func (s *suite) start(ctx context.Context, number int, tests []string) error {
	var args []string
	flag.Visit(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	args = append(args, "-test.run=^("+strings.Join(tests, "|")+")$",
		"-calls="+filepath.Join(s.dir, "calls"), "-test.testlogfile="+s.testLog(number))
	command := exec.CommandContext(ctx, s.program, args...)
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		return err
	}
	s.showTests(output)
	return command.Wait()
}

// showTests shows what a process writes, whole tests at a time: who reads it, go test
// -json included, takes all lines for those of the test that was the last to begin.
func (s *suite) showTests(output io.Reader) {
	var test []byte
	flush := func() {
		s.show.Lock()
		defer s.show.Unlock()
		_, _ = s.out.Write(test)
		test = test[:0]
	}
	defer flush()
	for lines := bufio.NewReader(output); ; {
		line, err := lines.ReadBytes('\n')
		unmarked := bytes.TrimPrefix(line, []byte{0x16}) // with which lines of package testing begin for -json
		if bytes.HasPrefix(unmarked, []byte("=== RUN")) && !bytes.Contains(unmarked, []byte("/")) {
			flush()
		}
		if verdict := string(unmarked); verdict != "PASS\n" && verdict != "FAIL\n" { // that on all comes at the end
			test = append(test, line...)
		}
		if err != nil {
			return
		}
	}
}

// testLog returns the file in which the process tells the go tool which files and variables it has
// read.
func (s *suite) testLog(number int) string {
	return filepath.Join(s.dir, fmt.Sprintf("testlog-%d", number))
}

// keepTestLog tells the go tool what all processes have read: if that changes, it may
// not take this result for that of a later run.
func (s *suite) keepTestLog() error {
	path := flag.Lookup("test.testlogfile").Value.String()
	if path == "" {
		return nil
	}
	var all []byte
	for i := range *shards + 1 {
		one, err := os.ReadFile(s.testLog(i))
		if err != nil {
			return err
		}
		heading, rest, _ := bytes.Cut(one, []byte("\n"))
		if i == 0 {
			all = append(heading, '\n')
		}
		all = append(all, rest...)
	}
	return os.WriteFile(path, all, 0o600)
}

func TestEveryTestExceptTheLastRunsInOneShard(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dealt, err := (&suite{program: program}).deal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(slices.Concat(dealt...)))
	if len(slices.Compact(slices.Clone(all))) != len(all) || slices.Contains(all, lastTest) || !slices.Contains(all, t.Name()) {
		t.Errorf("the shards run %v", all)
	}
	for test := range slow {
		if !slices.Contains(all, test) {
			t.Errorf("there is no test %s", test)
		}
	}
}

func TestOutputOfShardsIsShownTestByTest(t *testing.T) {
	var out bytes.Buffer
	s := suite{out: &out}
	output, process := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.showTests(output)
	}()
	fmt.Fprint(process, "=== RUN   TestA\n=== RUN   TestA/sub\n    a\n")
	s.showTests(strings.NewReader("\x16=== RUN   TestB\n\x16--- PASS: TestB (0.00s)\n\x16PASS\n"))
	fmt.Fprint(process, "--- FAIL: TestA (0.00s)\nFAIL\n")
	_ = process.Close()
	<-done
	const want = "\x16=== RUN   TestB\n\x16--- PASS: TestB (0.00s)\n" +
		"=== RUN   TestA\n=== RUN   TestA/sub\n    a\n--- FAIL: TestA (0.00s)\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got): %s", d)
	}
}

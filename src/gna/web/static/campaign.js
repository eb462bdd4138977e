// A campaign on its way: the sums move by themselves. When its state changes, the page is loaded anew.
import { $, $$ } from './admin.js';

const report = $('[data-progress]'), words = report.dataset, bar = $('progress', report), pace = $('[data-pace]', report);
const numbers = new Intl.NumberFormat(words.lang), WINDOW = 10000, SILENCE = 20000;
let seen = [], left = 0, moved = Date.now();

const source = new EventSource(words.progress);             // comes back by itself when the connection is lost
source.addEventListener('progress', event => draw(JSON.parse(event.data)));
source.addEventListener('done', () => { source.close(); location.reload(); });
$('[data-look]').hidden = true;

function draw(now) {
  const paused = now.deliveries.some(one => one.paused);
  if (now.state !== 'publishing') return;
  if (paused !== (words.paused === 'yes')) { source.close(); location.reload(); return; }
  if (words.counted === 'no' && now.audience_count > 0) showArchive();
  for (const place of $$('[data-sum]', report)) place.textContent = numbers.format(now[place.dataset.sum]);
  bar.max = now.audience_count || 1;
  bar.value = now.audience_count - now.remaining_count;
  const said = now.deliveries.map(one => one.waiting_for).find(Boolean);
  $('[data-waiting]').hidden = !said;
  $('[data-waiting] q').textContent = said || '';
  moved = Date.now();
  left = now.remaining_count;
  seen.push([moved, now.sent_count + now.failure_count]);
  tell();
}

// Since its audience is counted, it has a page in the archive.
async function showArchive() {
  words.counted = 'yes';
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const place of $$('[data-archive]')) place.replaceWith($(`[data-archive=${place.dataset.archive}]`, page));
}

// How fast it goes and how long it takes, while anything moves; who waits for another try does not.
function tell() {
  seen = seen.filter(([at]) => Date.now() - at < WINDOW);
  if (!seen.length) { pace.textContent = ''; return; }
  const [first, count] = seen[0], [last, latest] = seen.at(-1);
  const rate = last > first ? (latest - count) * 1000 / (last - first) : 0;
  if (rate < 0.05) { if (last > first) pace.textContent = ''; return; }
  const seconds = left / rate;
  const time = seconds < 60 ? words.seconds : seconds < 5400 ? words.minutes.replace('{}', Math.ceil(seconds / 60)) : words.hours.replace('{}', Math.round(seconds / 3600));
  pace.textContent = `${words.rate.replace('{}', numbers.format(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate)))} · ${time}`;
}

setInterval(() => {
  if (words.paused === 'yes') return;
  const silent = Date.now() - moved > SILENCE;
  $('[data-silent]').hidden = !silent;
  tell();
}, 1000);

// Writing a campaign: it saves itself, shows itself as readers will see it, and opens its dialogs.
// Without this script the same form posts to the same addresses.
import { $, $$, toast, zone } from './admin.js';

const form = $('#compose'), words = form.dataset, body = form.elements.body, state = $('[data-state]');
const frame = $('.preview iframe'), problem = $('[data-problem]'), conflict = $('[data-conflict]');
const autosaves = words.autosave === 'yes', PAUSE = 600, AGAIN = 5000;

// --- saving -------------------------------------------------------------------------------------
const UNSAVED = ['updated_at', 'id_to_be', 'nickname', 'written_in'];
const snapshot = fields => JSON.stringify([...fields].filter(([name]) => !UNSAVED.includes(name)));
const typed = () => snapshot(new FormData(form));
// As the page came: what was typed before this script arrived is not saved yet.
const original = form.cloneNode(true);
original.reset();
let saved = snapshot(new FormData(original)), timer, flying = null, stopped = false, leaving = false, partly = false;
if (!problem.hidden) saved = '';                        // the page came back with what could not be saved
const dirty = () => typed() !== saved;
const blank = () => !words.id && !form.elements.subject.value.trim() && !body.value.trim();
const formats = $$('[name=body_format]', form), writtenIn = form.elements.written_in;
const switched = () => form.elements.body_format.value !== writtenIn.value;

function say(text, bad = false) {
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle('bad', bad);
}

function complain(text, theirs = '') {
  problem.hidden = !text;
  conflict.hidden = !theirs;
  $('span', problem).textContent = text;
  $('[data-overwrite]').dataset.theirs = theirs;
}

async function post(url, fields) {
  let answer;
  try {
    answer = await fetch(url, { method: 'POST', headers: { Accept: 'application/json' }, body: fields });
  } catch {
    throw new Error(document.body.dataset.failed);
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(said.error || document.body.dataset.failed), { refused: said.error, theirs: said.updated_at, gone: said.gone });
  return said;
}

// One save at a time; what was typed meanwhile is saved next. True when everything is saved.
async function save() {
  clearTimeout(timer);
  while (flying) await flying;
  if (!dirty() && words.id) return true;
  if (blank()) { say(words.waiting); return false; }
  flying = attempt();
  const done = await flying;
  flying = null;
  return done && (dirty() ? save() : true);
}

async function attempt() {
  const fields = new FormData(form);
  body.readOnly = switched();                           // until its text has come back in the other format
  say(words.saving);
  try {
    const said = await post(form.action, fields);
    renew(said.renewed, fields);
    saved = snapshot(fields);
    if (!words.id) born(said.id);
    for (const field of $$('[data-seen]')) field.value = said.updated_at;
    show(said);
    complain('');
    stopped = false;
    partly = said.partly;                               // half a condition of the audience is only in the form
    say(partly ? words.partly : words.saved, partly);
    return true;
  } catch (error) {
    say(`${words.refused} ${error.message}`, true);
    stopped = Boolean(error.theirs || error.gone);      // a person decides what happens now
    if (stopped) complain(error.message, error.theirs);
    if (error.gone) unborn();
    if (error.refused && switched()) form.elements.body_format.value = writtenIn.value;
    if (autosaves && !error.refused) timer = setTimeout(save, AGAIN);
    return false;
  } finally {
    body.readOnly = false;
  }
}

// The server converts a text whose format was switched, and drops a feed's text part when the text changes.
function renew(texts, fields) {
  for (const [name, text] of Object.entries(texts)) {
    const field = form.elements[name];
    if (field.value === fields.get(name)) field.value = text;
    fields.set(name, text);
  }
  writtenIn.value = fields.get('body_format');
}

function born(id) {
  words.id = id;
  form.action = `/admin/campaigns/${id}`;
  history.replaceState(null, '', form.action);
  $('[data-conflict] a').href = form.action;
  for (const step of $$('form[data-step]')) step.action = `${form.action}/${step.dataset.step}`;
}

// Somebody deleted or sent it: what was typed can become another one.
function unborn() {
  words.id = '';
  form.action = '/admin/campaigns';
  if (form.elements.id_to_be) form.elements.id_to_be.value = '';
  $('[data-save]').hidden = false;
}

$('[data-overwrite]').addEventListener('click', event => {
  form.elements.updated_at.value = event.currentTarget.dataset.theirs;
  stopped = false;
  save();
});
form.addEventListener('input', () => {
  clearTimeout(timer);
  if (autosaves && !stopped) timer = setTimeout(save, PAUSE);
  else if (!stopped) say(dirty() ? words.dirty : words.saved);
});
for (const format of formats) format.addEventListener('change', () => {
  if (!body.value.trim()) writtenIn.value = format.value;
  else if (autosaves && !stopped) { body.readOnly = true; save(); }
});
form.addEventListener('submit', event => {
  if (event.submitter?.name === 'format') return;       // a look at what is not saved, into the frame
  event.preventDefault();
  if (event.submitter?.name === 'next') open(event.submitter.value);
  else save();
});
addEventListener('beforeunload', event => { if (!leaving && (dirty() || flying || partly)) event.preventDefault(); });
if (autosaves) $('[data-save]').hidden = true;
if (!words.id && problem.hidden) say(words.waiting);
if (problem.hidden && dirty()) form.dispatchEvent(new Event('input'));

// --- what readers will see ----------------------------------------------------------------------
let format = 'html', rev = 0;
const named = form.elements.nickname;
const looks = $$('.preview button[name=format]');
const press = () => looks.forEach(button => button.setAttribute('aria-pressed', button.value === format));
function look() {
  // Replaced, so that the way back leads out of the page and not through every version of the text.
  if (!words.id) return;
  const asked = new URLSearchParams({ format, rev: ++rev, nickname: named.checked ? named.value : '' });
  frame.classList.remove('bare');
  frame.contentWindow.location.replace(`/admin/api/campaigns/${words.id}/preview?${asked}`);
}
for (const button of $$('[data-theme-toggle]')) button.addEventListener('click', () => {
  if (frame.classList.contains('bare')) frame.contentWindow.location.replace('/admin/campaigns/preview');
});
function show(said) {
  for (const place of $$('[data-checks]')) place.innerHTML = said.checks;
  for (const button of $$('[data-go]')) button.disabled = said.blocked;
  look();
}
for (const button of looks) button.addEventListener('click', event => {
  format = button.value;
  press();
  frame.classList.remove('bare');
  if (autosaves && words.id) { event.preventDefault(); look(); }
});
press();
named.addEventListener('change', () => autosaves && words.id ? look() : looks.find(button => button.value === format).click());
for (const button of $$('[data-go]')) button.disabled = Boolean($('.findings .bad'));

// --- test, schedule, send -----------------------------------------------------------------------
async function open(name) {
  if (!autosaves && dirty()) return toast(words.saveFirst, 'bad');
  if (!form.reportValidity() || !await save()) return;
  const dialog = document.getElementById(name);
  dialog.showPopover();
  $('input:not([type=hidden]), footer .btn', dialog).focus();
  if (name === 'send') count();
  if (name === 'schedule') tell();
}

async function count() {
  const place = $('[data-reach]');
  place.textContent = place.dataset.counting;
  const answer = await fetch(`${form.action}/reach`).catch(() => null);
  const reach = answer?.ok ? await answer.json() : { said: document.body.dataset.failed };
  place.textContent = reach.said;
  $('[data-final]').hidden = reach.count === 0;
}

const plan = $('form[data-step=schedule]'), moment = $('[data-moment]');
const zones = Intl.supportedValuesOf?.('timeZone') || [];   // an older browser lets one type it
$('#zones').append(...zones.map(name => Object.assign(document.createElement('option'), { value: name })));
if (plan.elements.zone.value === 'UTC' && plan.elements.zone.value === plan.elements.zone.defaultValue) plan.elements.zone.value = zone;
async function tell() {
  const asked = new URLSearchParams({ at: plan.elements.at.value, zone: plan.elements.zone.value });
  const answer = await fetch(`/admin/campaigns/moment?${asked}`).catch(() => null);
  if (!answer?.ok) return;
  const { said, bad } = await answer.json();
  moment.textContent = said;
  moment.classList.toggle('problem', bad);
}
plan.addEventListener('input', () => { clearTimeout(tell.timer); tell.timer = setTimeout(tell, 250); });

for (const step of $$('form[data-step]')) step.addEventListener('submit', async event => {
  if (!('stay' in step.dataset)) { leaving = true; return; }
  event.preventDefault();
  const button = event.submitter;
  button.disabled = true;
  try {
    toast((await post(step.action, new FormData(step))).said);
    step.closest('[popover]').hidePopover();
  } catch (error) {
    toast(error.message, 'bad');
  }
  button.disabled = false;
});

// --- formatting; execCommand keeps the browser's own undo ---------------------------------------
const MARKS = {
  markdown: { bold: ['**', '**'], italic: ['*', '*'], heading: ['## ', '', 1], list: ['- ', '', 1], quote: ['> ', '', 1], link: ['[', '](https://)'], picture: ['![', '](https://)'] },
  html: { bold: ['<strong>', '</strong>'], italic: ['<em>', '</em>'], heading: ['<h2>', '</h2>'], list: ['<li>', '</li>'], quote: ['<blockquote>', '</blockquote>'], link: ['<a href="https://">', '</a>'], picture: ['<img src="https://" alt="', '">'] },
};
const put = text => { body.focus(); document.execCommand('insertText', false, text); };

function write(name) {
  const [before, after, lines] = MARKS[form.elements.body_format.value][name];
  let { selectionStart: start, selectionEnd: end, value } = body;
  if (lines) {                                          // the mark stands at the beginning of each line
    start = value.lastIndexOf('\n', start - 1) + 1;
    const chosen = value.slice(start, end).split('\n').map(line => before + line).join('\n');
    body.setSelectionRange(start, end);
    put(chosen);
    return;
  }
  const chosen = value.slice(start, end);
  put(before + chosen + after);
  const address = after.indexOf('https://');
  if (chosen && address >= 0) {                         // words are there: next comes the address
    const at = start + before.length + chosen.length + address;
    body.setSelectionRange(at, at + 'https://'.length);
  } else body.setSelectionRange(start + before.length, start + before.length + chosen.length);
}

$('.tools').hidden = false;
for (const button of $$('[data-write]')) button.addEventListener('click', () => write(button.dataset.write));
for (const button of $$('[data-field]')) button.addEventListener('click', () => { $('#fields').hidePopover(); put(button.dataset.field); });

const SHORT = { b: 'bold', i: 'italic', k: 'link' };
addEventListener('keydown', event => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  if (event.key === 's') { event.preventDefault(); save(); }
  else if (event.key === 'Enter') { event.preventDefault(); if (!$('.dialog:popover-open')) open('send'); }
  else if (event.target === body && SHORT[event.key]) { event.preventDefault(); write(SHORT[event.key]); }
});

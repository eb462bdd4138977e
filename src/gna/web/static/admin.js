// The admin's script. Behaviour hangs on data-* attributes, and every page works without it:
// forms post, links lead somewhere; only what moves by itself needs it.
export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const words = document.body.dataset;

export function toast(text, kind = '') {
  const host = $('#toasts'), note = document.createElement('div');
  note.className = `toast ${kind}`;
  note.textContent = text;
  host.append(note);
  host.hidePopover();                                   // shown anew, it lies above an open dialog
  host.showPopover();
  setTimeout(() => note.remove(), 6000);
}

function remember(name, value) {
  const secure = location.protocol === 'https:' ? ';secure' : '';
  document.cookie = `${name}=${encodeURIComponent(value)};path=/admin;max-age=31536000;samesite=lax${secure}`;
}

// The server writes moments in the visitor's own time, from the next page on.
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
remember('gna_zone', zone);

// --- light and dark -----------------------------------------------------------------------------
const root = document.documentElement;
for (const button of $$('[data-theme-toggle]')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    remember('gna_theme', root.dataset.theme);
  });
}

// --- dialogs: the focus goes in, and stays while one is open ---------------------------------------
const FOCUSABLE = 'a[href], button:not(:disabled), input:not([type=hidden], :disabled), select, textarea, summary, [tabindex="0"]';
for (const dialog of $$('.dialog')) {
  const inside = () => $$(FOCUSABLE, dialog).filter(one => one.checkVisibility());
  dialog.addEventListener('toggle', event => {
    if (event.newState !== 'open' || dialog.contains(document.activeElement)) return;
    const fields = inside().filter(one => one.matches('input, select, textarea'));
    (fields[0] || inside()[0])?.focus();
  });
  dialog.addEventListener('keydown', event => {
    const all = inside(), edge = event.shiftKey ? all[0] : all.at(-1);
    if (event.key !== 'Tab' || document.activeElement !== edge) return;
    event.preventDefault();
    (event.shiftKey ? all.at(-1) : all[0]).focus();
  });
}

// --- copying ------------------------------------------------------------------------------------
for (const button of $$('[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText($(button.dataset.copy).textContent);
    toast(words.copied);
  });
}

// --- choosing several rows ----------------------------------------------------------------------
for (const all of $$('[data-select-all]')) {
  const form = all.closest('form'), boxes = $$('tbody input[type=checkbox]', form), bar = $('[data-bulk]', form);
  const sync = () => {
    const chosen = boxes.filter(box => box.checked).length;
    bar.hidden = !chosen;
    for (const place of $$('[data-count]', form)) place.textContent = chosen;
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  };
  let last;
  all.hidden = false;
  all.addEventListener('change', () => { boxes.forEach(box => { box.checked = all.checked; }); sync(); });
  form.addEventListener('keydown', event => {           // Enter is for the field in which somebody types
    if (event.key === 'Enter' && event.target.type === 'checkbox') event.preventDefault();
  });
  boxes.forEach((box, at) => box.addEventListener('click', event => {
    if (event.shiftKey && last !== undefined)           // shift chooses all between two
      boxes.slice(Math.min(at, last), Math.max(at, last) + 1).forEach(one => { one.checked = box.checked; });
    last = at;
    sync();
  }));
  sync();
}

// --- choosing at once --------------------------------------------------------------------------
for (const field of $$('[data-submit-on-change]')) {
  for (const button of $$('button', field.form)) button.hidden = true;
  field.addEventListener('change', () => field.form.requestSubmit());
}

// --- what the server draws anew --------------------------------------------------------------------
for (const part of $$('[data-redraw]')) {
  const again = async () => {
    const answer = await fetch(location.href, { headers: { Accept: 'text/html' } }).catch(() => null);
    const drawn = answer?.ok && new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById(part.id);
    if (drawn && !part.contains(document.activeElement)) part.replaceChildren(...drawn.childNodes);
    else if (answer?.ok && !drawn) return location.reload();      // it has ended: another page is there now
    setTimeout(again, part.dataset.redraw);
  };
  setTimeout(again, part.dataset.redraw);
}

// --- keyboard -----------------------------------------------------------------------------------
const places = Object.fromEntries($$('.side [data-key]').map(link => [link.dataset.key, link.href]));
let chord = 0;
addEventListener('keydown', event => {
  if (event.metaKey || event.ctrlKey || event.altKey || event.target.closest('input:not([type=checkbox]), textarea, select, [popover]:popover-open')) return;
  if (Date.now() - chord < 1000 && places[event.key]) location.assign(places[event.key]);
  else if (event.key === 'g') chord = Date.now();
  else if (event.key === '/' && $('[type=search]')) { event.preventDefault(); $('[type=search]').focus(); }
  else if (event.key === 'n') location.assign('/admin/campaigns/new');
  else if (event.key === '?') $('#keys').showPopover();
});

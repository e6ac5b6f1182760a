//! The served files.
//!
//! They are listed once at startup, and each request is looked up in that list. No file path is
//! built from client input, so no request can leave the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The maximum number of served files.
const FILE_LIMIT: usize = 10_000;

/// The files of a folder and its subfolders, by URL path.
#[derive(Debug)]
pub(crate) struct Files {
    /// Sorted by URL path. Each starts with a slash.
    list: Vec<(String, PathBuf)>,
}

impl Files {
    /// Lists `root`, without symbolic links and without names that start with a dot or are not
    /// UTF-8.
    ///
    /// # Errors
    ///
    /// Returns an error if a folder cannot be read or there are more than [`FILE_LIMIT`] files.
    pub(crate) fn list(root: &Path) -> io::Result<Self> {
        let mut list = Vec::new();
        let mut folders = vec![("/".to_owned(), root.to_owned())];
        while let Some((url, folder)) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else {
                    continue;
                };
                // This does not follow symbolic links: they are neither file nor folder.
                let kind = entry.file_type()?;
                if name.starts_with('.') {
                    continue;
                }
                if kind.is_dir() {
                    folders.push((format!("{url}{name}/"), entry.path()));
                } else if kind.is_file() {
                    if name == "index.html" {
                        list.push((url.clone(), entry.path()));
                    }
                    list.push((format!("{url}{name}"), entry.path()));
                }
                if list.len() + folders.len() > FILE_LIMIT {
                    let problem = format!("there are more than {FILE_LIMIT} files");
                    return Err(io::Error::other(problem));
                }
            }
        }
        list.sort();
        Ok(Self { list })
    }

    /// Returns the file of a percent-decoded URL path.
    pub(crate) fn find(&self, url: &str) -> Option<&Path> {
        let at = self
            .list
            .binary_search_by(|(listed, _)| listed.as_str().cmp(url))
            .ok()?;
        Some(&self.list[at].1)
    }

    /// Opens the file of a URL path. Returns it with its length.
    pub(crate) fn open(&self, url: &str) -> io::Result<(File, u64)> {
        let path = self.find(url).ok_or(io::ErrorKind::NotFound)?;
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok((file, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("rustls-example-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("root/inner")).unwrap();
            for file in [
                "secret",
                "root/index.html",
                "root/a b.txt",
                "root/.hidden",
                "root/inner/page.html",
            ] {
                fs::write(path.join(file), file).unwrap();
            }
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_in_the_folder_are_found() {
        let folder = Folder::new("found");
        let files = Files::list(&folder.0.join("root")).unwrap();
        for (url, file) in [
            ("/", "index.html"),
            ("/index.html", "index.html"),
            ("/a b.txt", "a b.txt"),
            ("/inner/page.html", "inner/page.html"),
        ] {
            let path = folder.0.join("root").join(file);
            assert_eq!(files.find(url), Some(path.as_path()), "{url}");
        }
        let (_, len) = files.open("/inner/page.html").unwrap();
        assert_eq!(len, "root/inner/page.html".len() as u64);
    }

    #[test]
    fn no_other_path_is_found() {
        let folder = Folder::new("not-found");
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(folder.0.join("secret"), folder.0.join("root/link")).unwrap();
            symlink(&folder.0, folder.0.join("root/up")).unwrap();
        }
        let files = Files::list(&folder.0.join("root")).unwrap();
        let absolute = folder.0.join("secret");
        for url in [
            "",
            "index.html",
            "/..",
            "/../secret",
            "/inner/../../secret",
            "/inner/..",
            "/inner",
            "/inner/",
            "//index.html",
            "/./index.html",
            "/index.html/",
            "/index.html\0",
            "/..\\secret",
            "/.hidden",
            "/link",
            "/up/secret",
            "/etc/passwd",
            absolute.to_str().unwrap(),
        ] {
            assert_eq!(files.find(url), None, "{url}");
        }
    }
}
